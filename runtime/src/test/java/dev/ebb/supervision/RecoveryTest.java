package dev.ebb.supervision;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Strangers;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Home;
import dev.ebb.store.UidClaims;
import dev.ebb.store.UidRange;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Recovery from ledgers that lie, on plain directories in place of cgroups. */
@LeakChecked
class RecoveryTest {
  private static final int CGROUPS = 4;

  @TempDir Path temporary;

  private Home home;
  private Path instance;
  private final List<Process> started = new ArrayList<>();

  @BeforeEach
  void openHome() throws Exception {
    home = Home.open(temporary.resolve("home"), new UidClaims(temporary));
    instance = temporary.resolve("home/instances/ebb-0");
    leaveInstance();
  }

  @AfterEach
  void endProcesses() throws InterruptedException {
    for (Process process : started) {
      process.destroyForcibly().waitFor();
    }
  }

  /** A dead instance with one box: its ledger lists {@link #CGROUPS}, of which one was struck. */
  private void leaveInstance() throws IOException, KernelException {
    Files.createDirectories(instance);
    leaveInstanceFile(Filesystem.read(Path.of("/proc/sys/kernel/random/boot_id")).strip());
    for (int i = 0; i < CGROUPS; i++) {
      Files.createDirectories(cgroup(i).resolve("init"));
    }
    Files.deleteIfExists(instance.resolve("ledger"));
    try (var scope = new Scope()) {
      Ledger ledger = Ledger.create(scope, instance.resolve("ledger"));
      ledger.hold("", Kind.CGROUP, cgroup(0).toString());
      var struck = ledger.hold("b1", Kind.CGROUP, cgroup(1).toString());
      ledger.hold("b2", Kind.CGROUP, cgroup(2).toString());
      ledger.strike(List.of(struck));
      ledger.hold("b3", Kind.CGROUP, cgroup(3).toString());
    }
  }

  private void leaveInstanceFile(String boot) throws IOException {
    Files.writeString(instance.resolve("instance"), "boot=" + boot + "\nuids=-1\nprocess=1@1\n");
  }

  private void hold(Kind kind, String subject) throws IOException, KernelException {
    Files.deleteIfExists(instance.resolve("ledger"));
    try (var scope = new Scope()) {
      Ledger.create(scope, instance.resolve("ledger")).hold("b1", kind, subject);
    }
  }

  private Path cgroup(int number) {
    Path subtree = temporary.resolve("hierarchy " + number).resolve("ebb-0");
    return number == 0 ? subtree : subtree.resolve("b" + number);
  }

  private List<Recovery.Finding> recover() throws KernelException, IOException {
    return recovery().recover(false);
  }

  private Recovery recovery() {
    var removal = new CgroupRemoval((_, _) -> true);
    return new Recovery(home, (_, _) -> true, removal, new Strangers(), Duration.ofSeconds(10));
  }

  private ProcessRef sleeper() throws IOException {
    Process process = new ProcessBuilder("sleep", "1000").start();
    started.add(process);
    return ProcessRef.of((int) process.pid()).orElseThrow();
  }

  @Test
  void heldLinesAreReleasedAndStruckLinesAreNot() throws Exception {
    recover();
    assertThat(instance).doesNotExist();
    assertThat(cgroup(1)).exists();
    assertThat(List.of(cgroup(0), cgroup(2), cgroup(3))).noneMatch(Files::exists);
  }

  @Test
  void aLedgerCutAtAnyByteGivesWhatIsReadable() throws Exception {
    byte[] whole = Files.readAllBytes(instance.resolve("ledger"));
    List<Integer> ends = lineEnds(whole);
    for (int size = 0; size <= whole.length; size++) {
      leaveInstance();
      Files.write(instance.resolve("ledger"), Arrays.copyOf(whole, size));

      recover();

      int cut = size;
      int lines = (int) ends.stream().filter(end -> end <= cut).count();
      assertThat(instance).as("cut at %d", size).doesNotExist();
      assertThat(remaining()).as("cut at %d", size).isEqualTo(expectedAfter(lines));
    }
  }

  /** Where each line ends, without its newline. */
  private static List<Integer> lineEnds(byte[] text) {
    var ends = new ArrayList<Integer>();
    for (int i = 0; i < text.length; i++) {
      if (text[i] == '\n') {
        ends.add(i);
      }
    }
    return ends;
  }

  /** The cgroups that are unknown when only the first {@code lines} can be read. */
  private static List<Integer> expectedAfter(int lines) {
    return switch (lines) {
      case 0 -> List.of(0, 1, 2, 3);
      case 1 -> List.of(1, 2, 3);
      case 2 -> List.of(2, 3);
      case 3 -> List.of(3);
      case 4 -> List.of(1, 3);
      case 5 -> List.of(1);
      default -> throw new AssertionError(lines);
    };
  }

  private List<Integer> remaining() {
    var remaining = new ArrayList<Integer>();
    for (int i = 0; i < CGROUPS; i++) {
      if (Files.exists(cgroup(i))) {
        remaining.add(i);
      }
    }
    return remaining;
  }

  @Test
  void garbageInTheLedgerHidesNoOtherLine() throws Exception {
    var random = new Random(1);
    for (int round = 0; round < 100; round++) {
      leaveInstance();
      List<String> lines = Files.readAllLines(instance.resolve("ledger"));
      byte[] garbage = new byte[random.nextInt(2000)];
      random.nextBytes(garbage);
      int at = random.nextInt(lines.size() + 1);
      Files.write(instance.resolve("ledger"), lines.subList(0, at));
      Files.write(instance.resolve("ledger"), garbage, StandardOpenOption.APPEND);
      Files.writeString(instance.resolve("ledger"), "\n", StandardOpenOption.APPEND);
      Files.write(
          instance.resolve("ledger"), lines.subList(at, lines.size()), StandardOpenOption.APPEND);

      recover();

      assertThat(instance).doesNotExist();
      assertThat(remaining()).isEqualTo(expectedAfter(5));
    }
  }

  @Test
  void anInstanceFileCutAtAnyByteKeepsNoEngineFromOpening() throws Exception {
    byte[] whole = Files.readAllBytes(instance.resolve("instance"));
    for (int size = 0; size <= whole.length; size++) {
      leaveInstance();
      Files.write(instance.resolve("instance"), Arrays.copyOf(whole, size));
      try (var scope = new Scope()) {
        home.create(scope, ProcessRef.self().toString(), UidRange.NONE);
        recover();
      }
      recover();
      assertThat(instance).as("cut at %d", size).doesNotExist();
    }
  }

  @Test
  void uidsOfAGoneInstanceAreReleasedUnlessAProcessRunsAsOne() throws Exception {
    Path claims = Files.createDirectory(temporary.resolve("ebb-uids"));
    Path ours = link(claims, Self.uid(), temporary.resolve("gone/ebb-1"));
    Path nobodys = link(claims, 0x6fff_0000, temporary.resolve("gone/ebb-2"));
    Path kept = link(claims, 0x6fff_1000, instance);
    assertThat(releaseOfRemovedHomes(true)).hasSize(1);
    assertThat(nobodys).isSymbolicLink();

    assertThat(releaseOfRemovedHomes(false))
        .containsExactly(
            new Recovery.Finding("ebb-2", Kind.USER, "1878982656", new Recovery.Fate.Released()));
    assertThat(nobodys).doesNotExist();
    assertThat(List.of(ours, kept)).allMatch(Files::isSymbolicLink);
  }

  /** The findings about these instances; neighbours may have left cgroups as well. */
  private List<Recovery.Finding> releaseOfRemovedHomes(boolean dryRun) throws Exception {
    return recovery().releaseRemovedHomes(dryRun).stream()
        .filter(finding -> finding.instance().matches("ebb-[12]"))
        .toList();
  }

  private static Path link(Path claims, int uid, Path instance) throws IOException {
    return Files.createSymbolicLink(claims.resolve(Integer.toString(uid)), instance);
  }

  @Test
  void anInstanceThatCannotBeRemovedIsStuckAndKeepsNothingElseFromIt() throws Exception {
    Path stray = Files.createFile(instance.resolve("stray"));
    assertThat(recover())
        .filteredOn(finding -> finding.kind() == Kind.DIRECTORY)
        .singleElement()
        .matches(finding -> finding.fate() instanceof Fate.Stuck);
    assertThat(remaining()).isEqualTo(expectedAfter(5));

    Files.delete(stray);
    recover();
    assertThat(instance).doesNotExist();
  }

  @Test
  void aCgroupThatTheInstanceCannotHaveMadeIsNotTouched() throws Exception {
    List<String> foreign =
        List.of(
            "ebb-1",
            "ebb-1/b1",
            "ebb-0",
            "ebb-0/b2",
            "ebb-0/b1/work",
            "ebb-0-self",
            "other/b1",
            "b1",
            "ebb-0/../ebb-1/b1",
            "ebb-0/b1/../b2");
    Files.createDirectories(temporary.resolve("ebb-0/b1/work"));
    for (String path : foreign) {
      leaveInstance();
      Path stranger = temporary.resolve(path);
      Files.createDirectories(stranger);
      hold(Kind.CGROUP, stranger.toString());
      recover();
      assertThat(stranger).exists();
      assertThat(instance).as(path).doesNotExist();
    }
    for (String own : List.of("b1", "b1-lane")) {
      leaveInstance();
      Path path = Files.createDirectories(temporary.resolve("own/ebb-0").resolve(own));
      hold(Kind.CGROUP, path.toString());
      recover();
      assertThat(path).doesNotExist();
    }
  }

  @Test
  void aLinkIsNeitherAnInstanceNorTheDirectoryOfABox() throws Exception {
    Path foreign = Files.createDirectory(temporary.resolve("foreign"));
    for (String file : List.of("ledger", "instance", "lock", "1.stdout")) {
      Files.createFile(foreign.resolve(file));
    }
    Path looksLikeOne = instance.resolveSibling("ebb-1");
    Files.createSymbolicLink(looksLikeOne, foreign);
    Path box = Files.createSymbolicLink(instance.resolve("b1"), foreign);
    hold(Kind.DIRECTORY, box.toString());
    recover();
    assertThat(foreign).isDirectoryContaining("glob:**/1.stdout");
    try (var files = Files.list(foreign)) {
      assertThat(files).hasSize(4);
    }
    Files.delete(looksLikeOne);
    Files.delete(box);
    recover();
    assertThat(instance).doesNotExist();
  }

  @Test
  void aProcessOnTheLedgerIsEnded() throws Exception {
    ProcessRef sleeper = sleeper();
    hold(Kind.PROCESS, sleeper.toString());
    recover();
    assertThat(sleeper.isAlive()).isFalse();
    assertThat(instance).doesNotExist();
  }

  @Test
  void aRecycledPidIsNotTouched() throws Exception {
    ProcessRef sleeper = sleeper();
    hold(Kind.PROCESS, new ProcessRef(sleeper.pid(), sleeper.startTime() - 1).toString());
    assertThat(recover()).first().matches(finding -> finding.fate() instanceof Fate.Absent);
    assertThat(sleeper.isAlive()).isTrue();
    assertThat(instance).doesNotExist();
  }

  @Test
  void theMakerOfAnUnrecordedBoxIsKilledAndNoOtherProcess() throws Exception {
    ProcessRef maker = calledAs("/usr/bin/bwrap", "--name", "b1");
    ProcessRef other = calledAs("/usr/bin/bwrap", "--name", "b2");
    ProcessRef reader = calledAs("less", "b1");
    hold(Kind.PROCESS, new ProcessRef(0, maker.startTime()).toString());
    recover();
    assertThat(maker.isAlive()).isFalse();
    assertThat(other.isAlive()).isTrue();
    assertThat(reader.isAlive()).isTrue();
    assertThat(instance).doesNotExist();
  }

  @Test
  void aProcessOlderThanTheRuntimeMadeNoneOfItsBoxes() throws Exception {
    ProcessRef maker = calledAs("/usr/bin/bwrap", "--name", "b1");
    hold(Kind.PROCESS, new ProcessRef(0, maker.startTime() + 1).toString());
    recover();
    assertThat(maker.isAlive()).isTrue();
  }

  /** A process with this command line, which sleeps. */
  private ProcessRef calledAs(String... words) throws IOException {
    String program = "import signal; print(flush=True); signal.pause()";
    var command =
        new ArrayList<>(List.of("bash", "-c", "exec -a \"$0\" /usr/bin/python3 -c \"$@\""));
    command.add(words[0]);
    command.add(program);
    command.addAll(List.of(words).subList(1, words.length));
    Process process = new ProcessBuilder(command).start();
    started.add(process);
    assertThat(process.getInputStream().read()).isEqualTo('\n');
    return ProcessRef.of((int) process.pid()).orElseThrow();
  }

  @Test
  void afterARestartOfTheHostOnlyTheDirectoryIsRemoved() throws Exception {
    ProcessRef sleeper = sleeper();
    hold(Kind.PROCESS, sleeper.toString());
    leaveInstanceFile("00000000-0000-0000-0000-000000000000");
    recover();
    assertThat(sleeper.isAlive()).isTrue();
    assertThat(instance).doesNotExist();

    leaveInstance();
    leaveInstanceFile("00000000-0000-0000-0000-000000000000");
    recover();
    assertThat(remaining()).isEqualTo(expectedAfter(0));
    assertThat(instance).doesNotExist();
  }
}
