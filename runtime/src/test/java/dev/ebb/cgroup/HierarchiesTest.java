package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recorded mount tables, over directories that look like what was mounted there. */
class HierarchiesTest {
  /** Stands for the directory of the test in the tables. */
  private static final String ROOT = "/sys/fs/cgroup";

  private static final String SYSTEM =
      """
      22 27 0:20 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
      23 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
      27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,errors=remount-ro
      28 27 0:25 / /run rw,nosuid,nodev,noexec,relatime shared:5 - tmpfs tmpfs rw,size=4915200k,mode=755
      """;

  private static final String HYBRID =
      """
      31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
      32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
      33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
      34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
      36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices
      37 31 0:34 / /sys/fs/cgroup/freezer rw,relatime - cgroup cgroup rw,freezer
      38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio
      39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
      40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
      """;

  /** systemd's hybrid layout: cpu and cpuacct in one hierarchy. */
  private static final String HYBRID_OF_SYSTEMD =
      """
      25 22 0:22 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,size=4096k,nr_inodes=1024,mode=755
      26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
      29 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
      33 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct
      34 25 0:29 / /sys/fs/cgroup/freezer rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,freezer
      35 25 0:30 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:17 - cgroup cgroup rw,memory
      36 25 0:31 / /sys/fs/cgroup/net_cls,net_prio rw,nosuid,nodev,noexec,relatime shared:18 - cgroup cgroup rw,net_cls,net_prio
      37 25 0:32 / /sys/fs/cgroup/pids rw,nosuid,nodev,noexec,relatime shared:19 - cgroup cgroup rw,pids
      """;

  private static final String UNIFIED =
      """
      25 22 0:22 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
      """;

  /** docker with a cgroup namespace of its own. */
  private static final String CONTAINER =
      """
      1203 1201 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate,memory_recursiveprot
      """;

  /** docker on a v1 host: each hierarchy shows the container's own directory, read-only. */
  private static final String CONTAINER_OF_VERSION_1 =
      """
      812 811 0:60 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
      813 812 0:28 /docker/4f2a /sys/fs/cgroup/systemd ro,nosuid,nodev,noexec,relatime master:11 - cgroup cgroup rw,xattr,name=systemd
      814 812 0:29 /docker/4f2a /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:15 - cgroup cgroup rw,memory
      815 812 0:30 /docker/4f2a /sys/fs/cgroup/pids ro,nosuid,nodev,noexec,relatime master:16 - cgroup cgroup rw,pids
      """;

  /** This process, and the two around it. */
  private static final List<Integer> OWN = List.of(17, 15, 16);

  @TempDir Path root;

  private Hierarchies detect(String table) throws IOException {
    return detect(table, new Hierarchies.Place("/", 0, true, List.of(1)));
  }

  private Hierarchies detect(String table, Hierarchies.Place place) throws IOException {
    return Hierarchies.detect((SYSTEM + table.replace(ROOT, escape(root))).lines().toList(), place);
  }

  private static String escape(Path path) {
    // Formats the content as the kernel prints it and the detection reads it.
    return new String(path.toString().getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1)
        .replace("\\", "\\134")
        .replace(" ", "\\040")
        .replace("\t", "\\011")
        .replace("\n", "\\012");
  }

  /** A hierarchy that we may write to. */
  private Path mounted(String name) throws IOException {
    Path point = Files.createDirectories(root.resolve(name));
    Files.createFile(point.resolve("cgroup.procs"));
    return point;
  }

  /** A file that cannot be opened for writing: for root, only a missing file. */
  private Path readOnly(String name) throws IOException {
    return Files.createDirectories(root.resolve(name));
  }

  private static Path controllers(Path point, String controllers) throws IOException {
    Files.writeString(point.resolve("cgroup.controllers"), controllers + "\n");
    return point;
  }

  private Map<String, Path> mountedVersion1(String... controllers) throws IOException {
    var points = new java.util.HashMap<String, Path>();
    for (String controller : controllers) {
      points.put(controller, mounted(controller));
    }
    return points;
  }

  @Test
  void aHostWithBothVersionsGivesLimitsFromVersion1() throws IOException {
    Path unified = controllers(mounted("unified"), "hugetlb");
    var version1 = mountedVersion1("cpu", "memory", "freezer", "pids");
    mountedVersion1("cpuacct", "cpuset", "devices", "blkio", "systemd");
    var hierarchies = detect(HYBRID);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.HYBRID);
    assertThat(hierarchies.unified()).contains(unified);
    assertThat(hierarchies.version1()).isEqualTo(version1);
    assertThat(hierarchies.namespacesBound()).isFalse();
    assertThat(hierarchies.reason()).contains("without controllers, limits from v1");
    assertThat(hierarchies.everywhere("ebb-1/box"))
        .containsExactly(
            unified.resolve("ebb-1/box"),
            root.resolve("cpu/ebb-1/box"),
            root.resolve("freezer/ebb-1/box"),
            root.resolve("memory/ebb-1/box"),
            root.resolve("pids/ebb-1/box"));
  }

  private static Hierarchies.Place in(Map<String, String> version1) {
    return new Hierarchies.Place("/", 0, true, List.of(1), version1);
  }

  /** A limit around the process is one around its boxes; the freezer has none. */
  @Test
  void boxesAreBelowTheCgroupsOfTheirProcess() throws IOException {
    Path unified = controllers(mounted("unified"), "");
    mountedVersion1("cpu", "memory", "freezer", "pids");
    mounted("pids/a/b");
    mounted("memory/c");
    mounted("freezer/d");
    var place = in(Map.of("pids", "/a/b", "memory", "/c", "cpu", "/", "freezer", "/d"));
    var hierarchies = detect(HYBRID, place);
    assertThat(hierarchies.everywhere("ebb-1"))
        .containsExactly(
            unified.resolve("ebb-1"),
            root.resolve("cpu/ebb-1"),
            root.resolve("freezer/ebb-1"),
            root.resolve("memory/c/ebb-1"),
            root.resolve("pids/a/b/ebb-1"));
    assertThat(hierarchies.reason()).endsWith("below this process's own cgroups");
  }

  @Test
  void aBoxThatAnotherProcessMadeIsWhereThatOneWas() throws IOException {
    Path unified = controllers(mounted("unified"), "");
    mountedVersion1("cpu", "memory", "freezer", "pids");
    mounted("pids/mine");
    var hierarchies =
        detect(HYBRID, in(Map.of("pids", "/mine", "memory", "/", "cpu", "/")))
            .asFor(
                "ebb-1/b1",
                List.of(
                    root.resolve("unified/ebb-1/b1"),
                    root.resolve("pids/other/ebb-1/b1"),
                    root.resolve("memory/other/ebb-1/b1"),
                    root.resolve("memory/other/ebb-1/b1-lane")));
    assertThat(hierarchies.everywhere("ebb-1/b1"))
        .containsExactly(
            unified.resolve("ebb-1/b1"),
            root.resolve("cpu/ebb-1/b1"),
            root.resolve("freezer/ebb-1/b1"),
            root.resolve("memory/other/ebb-1/b1"),
            root.resolve("pids/other/ebb-1/b1"));
  }

  /** The mount of a hierarchy that shows only a part, and of a cgroup that is not visible. */
  @Test
  void whatCannotBeSeenIsAtTheMount() throws IOException {
    controllers(mounted("unified"), "");
    mountedVersion1("freezer", "memory", "pids", "cpu");
    mounted("pids/inner");
    String table =
        """
        31 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
        32 22 0:29 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
        33 22 0:30 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
        34 22 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
        """;
    var place = in(Map.of("pids", "/docker/x/inner", "memory", "/elsewhere", "cpu", "/../up"));
    assertThat(detect(table, place).version1())
        .isEqualTo(
            Map.of(
                "pids", root.resolve("pids/inner"),
                "memory", root.resolve("memory"),
                "cpu", root.resolve("cpu")));
  }

  @Test
  void controllersMountedTogetherAreOneDirectory() throws IOException {
    controllers(mounted("unified"), "");
    Path cpu = mounted("cpu,cpuacct");
    mountedVersion1("freezer", "memory", "pids");
    var hierarchies = detect(HYBRID_OF_SYSTEMD);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.HYBRID);
    assertThat(hierarchies.version1()).containsEntry("cpu", cpu).hasSize(4);
    assertThat(hierarchies.namespacesBound()).isTrue();
  }

  @Test
  void everyControllerInOneHierarchyIsOneDirectory() throws IOException {
    controllers(mounted("unified"), "");
    mounted("all");
    var hierarchies =
        detect(
            """
            31 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
            32 22 0:29 / /sys/fs/cgroup/all rw - cgroup cgroup rw,cpu,memory,freezer,pids
            """);
    assertThat(hierarchies.everywhere("ebb-1"))
        .containsExactly(root.resolve("unified/ebb-1"), root.resolve("all/ebb-1"));
  }

  @Test
  void theUnifiedHierarchyAloneGivesEverything() throws IOException {
    mounted("");
    controllers(root, "cpuset cpu io memory hugetlb pids rdma misc");
    var hierarchies = detect(UNIFIED);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.V2);
    assertThat(hierarchies.unified()).contains(root);
    assertThat(hierarchies.version1()).isEmpty();
    assertThat(hierarchies.namespacesBound()).isTrue();
    assertThat(hierarchies.reason()).isEqualTo("unified hierarchy at " + root);
    assertThat(hierarchies.everywhere("ebb-1")).containsExactly(root.resolve("ebb-1"));
  }

  @Test
  void aUnifiedHierarchyThatLacksAControllerIsRefusedByItsName() throws IOException {
    mounted("");
    controllers(root, "memory pids");
    var hierarchies = detect(UNIFIED);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.NONE);
    assertThat(hierarchies.reason()).contains(root.toString()).contains("cpu");
  }

  @Test
  void aContainerWithAReadOnlyHierarchyHasNone() throws IOException {
    readOnly("");
    controllers(root, "cpuset cpu io memory hugetlb pids rdma misc");
    var hierarchies = detect(CONTAINER);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.NONE);
    assertThat(hierarchies.unified()).isEmpty();
    assertThat(hierarchies.reason()).isEqualTo(root + " is not writable");
    assertThat(hierarchies.everywhere("ebb-1")).isEmpty();
  }

  @Test
  void aReadOnlyVersion1HierarchyIsNamed() throws IOException {
    controllers(mounted("unified"), "");
    mountedVersion1("cpu", "memory", "freezer");
    readOnly("pids");
    var hierarchies = detect(HYBRID);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.NONE);
    assertThat(hierarchies.reason()).isEqualTo(root.resolve("pids") + " is not writable");
  }

  @Test
  void version1AloneIsNotEnough() throws IOException {
    mountedVersion1("cpu", "memory", "freezer", "pids");
    var hierarchies = detect(CONTAINER_OF_VERSION_1);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.NONE);
    assertThat(hierarchies.reason()).isEqualTo("no cgroup2 file system is mounted");
  }

  @Test
  void noMountAtAllIsNone() throws IOException {
    assertThat(detect("").mode()).isEqualTo(CgroupMode.NONE);
  }

  @Test
  void aHybridHostWithoutTheNeededControllersIsNone() throws IOException {
    controllers(mounted("unified"), "hugetlb");
    var hierarchies =
        detect("41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.NONE);
    assertThat(hierarchies.reason()).contains("pids").contains("memory");
  }

  @Test
  void aMountPointMayHaveAnyName() throws IOException {
    String odd = "a b\tc\nd\\e 日本 -";
    Path unified = controllers(mounted(odd), "cpu memory pids");
    var hierarchies =
        detect("41 31 0:38 / " + escape(unified) + " rw master:1 shared:2 - cgroup2 none rw\n");
    assertThat(hierarchies.unified()).contains(unified);
  }

  @Test
  void aSecondMountOfAHierarchyChangesNothing() throws IOException {
    Path unified = controllers(mounted("unified"), "");
    var version1 = mountedVersion1("cpu", "memory", "freezer", "pids");
    var hierarchies =
        detect(
            HYBRID
                + "99 27 0:38 /chroot /srv/chroot/cgroup rw - cgroup2 cgroup2 rw\n"
                + "98 27 0:36 /chroot /srv/chroot/pids rw - cgroup cgroup rw,pids\n");
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.HYBRID);
    assertThat(hierarchies.unified()).contains(unified);
    assertThat(hierarchies.version1()).isEqualTo(version1);
  }

  @Test
  void theRunningHostIsUnderstood() throws IOException {
    var hierarchies = Hierarchies.detect();
    assertThat(hierarchies.reason()).isNotEmpty();
    assertThat(hierarchies.everywhere("ebb-test"))
        .hasSize(hierarchies.mode() == CgroupMode.NONE ? 0 : hierarchies.everywhere("").size())
        .allMatch(path -> Files.isDirectory(path.resolveSibling(".")));
  }

  // --- delegation ---

  private Path delegated(String procs) throws IOException {
    controllers(mounted(""), "cpu io memory pids");
    Path own = controllers(mounted("user.slice/app.scope"), "cpu memory pids");
    Files.writeString(own.resolve("cgroup.procs"), procs);
    Files.writeString(own.resolve("cgroup.type"), "domain\n");
    Files.writeString(own.resolve("cgroup.subtree_control"), "\n");
    return own;
  }

  private Hierarchies asUser(boolean mayMove) throws IOException {
    return detect(UNIFIED, new Hierarchies.Place("/user.slice/app.scope", 1000, mayMove, OWN));
  }

  @Test
  void anOrdinaryUserIsGivenWhatHeMayWriteTo() throws IOException {
    Path own = delegated("17\n");
    var hierarchies = asUser(true);
    assertThat(hierarchies.mode()).isEqualTo(CgroupMode.V2);
    assertThat(hierarchies.unified()).contains(own);
    assertThat(hierarchies.prefix()).isEqualTo("/user.slice/app.scope");
    assertThat(hierarchies.everywhere("ebb-1")).containsExactly(own.resolve("ebb-1"));
    assertThat(hierarchies.reason()).isEqualTo("delegated subtree " + own);
  }

  @Test
  void aProcessThatIsNotOursToMoveHasNoneUnlessTheyArePrepared() throws IOException {
    Path own = delegated("17\n");
    assertThat(asUser(false).mode()).isEqualTo(CgroupMode.NONE);
    assertThat(asUser(false).reason()).endsWith("and not Ebb's to move");
    Files.writeString(own.resolve("cgroup.subtree_control"), "cpu memory pids\n");
    assertThat(asUser(false).mode()).isEqualTo(CgroupMode.V2);
  }

  @Test
  void whereOthersAreTooThereIsNone() throws IOException {
    delegated("17\n18\n");
    assertThat(asUser(true).mode()).isEqualTo(CgroupMode.NONE);
    assertThat(asUser(true).reason()).contains("others are in", "a cgroup of its own");
  }

  @Test
  void theKeeperIsNoOther() throws IOException {
    Path own = delegated("15\n16\n17\n");
    assertThat(asUser(true).unified()).contains(own);
    assertThat(asUser(false).reason()).endsWith("and not Ebb's to move");
    Files.writeString(own.resolve("cgroup.procs"), "15\n16\n17\n18\n");
    assertThat(asUser(true).reason()).contains("others are in");
  }

  @Test
  void aSubgroupOfWhatSystemdDelegatedIsWhereWeStay() throws IOException {
    Path unit = delegated("");
    controllers(mounted("user.slice/app.scope/daemon"), "memory pids");
    for (boolean mayMove : new boolean[] {true, false}) {
      var inside = new Hierarchies.Place("/user.slice/app.scope/daemon", 0, mayMove, OWN);
      Files.setAttribute(unit, "user:delegate", "0".getBytes(StandardCharsets.ISO_8859_1));
      assertThat(detect(UNIFIED, inside).unified()).contains(root);
      Files.setAttribute(unit, "user:delegate", "1".getBytes(StandardCharsets.ISO_8859_1));
      assertThat(detect(UNIFIED, inside).unified()).contains(unit);
      assertThat(detect(UNIFIED, inside).prefix()).isEqualTo("/user.slice/app.scope");
      assertThat(detect(UNIFIED, inside).leafOfOurs("ebb-1")).isEmpty();
    }
  }

  /** KERNEL: a cgroup hands controllers on only while no process is in it. */
  @Test
  void aProcessInADelegatedCgroupMovesToALeafOfIt() throws IOException {
    Path own = delegated("17\n");
    Hierarchies delegated = asUser(true);
    assertThat(delegated.leafOfOurs("ebb-1")).isEmpty();
    Files.writeString(own.resolve("cgroup.procs"), ProcessHandle.current().pid() + "\n");
    assertThat(delegated.leafOfOurs("ebb-1")).contains(own.resolve("ebb-1-self"));
  }

  /** KERNEL: no process need leave the real root, the only cgroup without cgroup.type. */
  @Test
  void inTheRealRootWeStay() throws IOException {
    controllers(root, "cpu io memory pids");
    Files.writeString(root.resolve("cgroup.procs"), ProcessHandle.current().pid() + "\n");
    assertThat(detect(UNIFIED).leafOfOurs("ebb-1")).isEmpty();
  }

  @Test
  void cgroupKillIsLookedForWhereItCanBe() throws IOException {
    Path own = delegated("17\n");
    assertThat(asUser(true).hasKill()).contains(false);
    Files.createFile(own.resolve("cgroup.kill"));
    assertThat(asUser(true).hasKill()).contains(true);
  }

  @Test
  void theRootHasNoCgroupKillButItsChildren() throws IOException {
    controllers(mounted(""), "cpu io memory pids");
    assertThat(detect(UNIFIED).hasKill()).isEmpty();
    Path child = Files.createDirectory(root.resolve("system.slice"));
    assertThat(detect(UNIFIED).hasKill()).isEmpty();
    Files.createFile(child.resolve("cgroup.type"));
    assertThat(detect(UNIFIED).hasKill()).contains(false);
    Files.createFile(child.resolve("cgroup.kill"));
    assertThat(detect(UNIFIED).hasKill()).contains(true);
  }

  @Test
  void rootUsesWhatSystemdDelegatedAndElseTheRoot() throws IOException {
    Path own = delegated("17\n");
    var asRoot = new Hierarchies.Place("/user.slice/app.scope", 0, true, OWN);
    assertThat(detect(UNIFIED, asRoot).unified()).contains(root);
    Files.setAttribute(own, "user:delegate", "1".getBytes(StandardCharsets.ISO_8859_1));
    assertThat(detect(UNIFIED, asRoot).unified()).contains(own);
  }

  @Test
  void theRootOfAContainerIsOursToArrange() throws IOException {
    controllers(mounted(""), "cpu memory pids");
    Files.writeString(root.resolve("cgroup.type"), "domain\n");
    Files.writeString(root.resolve("cgroup.procs"), "1\n");
    Files.writeString(root.resolve("cgroup.subtree_control"), "\n");
    var hierarchies = detect(UNIFIED, new Hierarchies.Place("/", 0, true, List.of(1)));
    assertThat(hierarchies.unified()).contains(root);
    assertThat(hierarchies.prefix()).isEmpty();
    assertThat(hierarchies.reason()).startsWith("delegated subtree");
    assertThat(detect(UNIFIED, new Hierarchies.Place("/", 0, false, List.of(1))).mode())
        .isEqualTo(CgroupMode.NONE);
  }
}
