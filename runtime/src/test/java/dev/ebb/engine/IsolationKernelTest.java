package dev.ebb.engine;

import static dev.ebb.engine.Prober.inPlainBwrap;
import static dev.ebb.engine.Prober.onHost;
import static dev.ebb.engine.Prober.onHostAs;
import static dev.ebb.engine.Prober.onHostAsNobody;
import static dev.ebb.engine.Prober.onHostAsRoot;
import static dev.ebb.engine.Prober.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Limits;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The isolation of code in a box. Each test also runs its attempt where it succeeds. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class IsolationKernelTest {
  private static final String INIT = "1";

  /** Tells the probe to make an ordinary process as its target. */
  private static final String A_CHILD = "0";

  @RegisterExtension final Prober prober = new Prober();

  // ----------------------------------------------------------------- processes

  @Test
  void aBoxSeesNoProcessButItsOwn() throws IOException, InterruptedException {
    String us = Long.toString(ProcessHandle.current().pid());
    int subreapers = prober.engine().hierarchies().mode() == CgroupMode.NONE ? 1 : 0;
    assertThat(prober.inBox("pids").split(" ")).hasSize(2 + subreapers).contains(INIT);
    assertThat(onHost("pids").split(" ")).contains(us);
  }

  @Test
  void aBoxCannotSignalAHostProcess() throws IOException, InterruptedException {
    String us = Long.toString(ProcessHandle.current().pid());
    assertThat(prober.inBox("signal_process", us, "0")).isEqualTo("ESRCH");
    assertThat(onHost("signal_process", us, "0")).isEqualTo("yes");
  }

  @Test
  void noSignalFromABoxMovesItsInit() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    assertThat(prober.in(box, "signal_all", INIT)).isEqualTo("alive");
    assertThat(prober.in(box, "signal_all", A_CHILD)).isEqualTo("dead");
    assertThat(prober.in(box, "pids")).startsWith(INIT);
  }

  @Test
  void initIsNeitherTracedNorReadNorWritten() throws IOException, InterruptedException {
    assertThat(prober.inBox("intrude", INIT).split(" "))
        .hasSize(20)
        .allMatch(way -> way.endsWith("=EPERM") || way.endsWith("=EACCES"));
    assertThat(onHost("intrude", A_CHILD).split(" "))
        .hasSize(20)
        .noneMatch(way -> way.contains("=E"));
  }

  @Test
  void initsLimitsAndItsTurnsAreNotTheBoxsToSet() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    assertThat(prober.in(box, "hamper", INIT).split(" "))
        .hasSize(8)
        .allMatch(w -> w.endsWith("=EPERM"));
    var nobody = onHostAsNobody("hamper", A_CHILD).split(" ");
    assertThat(nobody).hasSize(8).allMatch(way -> way.endsWith("=yes"));
    assertThat(prober.in(box, "pids")).startsWith(INIT);
  }

  @Test
  void noCoreOfABoxGoesToTheHostsHandler() throws IOException, InterruptedException {
    assertThat(prober.inBox("lower_core_limit")).isEqualTo("1");
    assertThat(onHost("lower_core_limit")).isEqualTo("0");
  }

  @Test
  void initHoldsItsSocketAndLittleElse() throws IOException {
    TestHost.require(Feature.ROOT);
    Box box = prober.engine().create(BoxSpec.defaults());
    int init = box.footprint().pids().getFirst();
    try (var descriptors = Files.list(Path.of("/proc/" + init + "/fd"))) {
      assertThat(descriptors.map(IsolationKernelTest::target).map(IsolationKernelTest::kind))
          .containsExactlyInAnyOrder(
              "/dev/null", "/dev/null", "/dev/null", "socket", "anon_inode", "anon_inode");
    }
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static String kind(String target) {
    return target.replaceAll(":.*", "");
  }

  @Test
  void aCommandInheritsThreeDescriptors() throws IOException, InterruptedException {
    assertThat(prober.inBox("descriptors")).isEqualTo("0=/dev/null 1=pipe 2=pipe");
    var leaky = String.join(" ", "exec 9</etc/hostname;", "exec \"$@\"");
    var words = new java.util.ArrayList<>(List.of("/bin/sh", "-c", leaky, "sh"));
    words.addAll(Prober.plainBwrap(List.of(), "descriptors"));
    assertThat(Prober.run(words)).contains("9=/etc/hostname");
  }

  @Test
  void aCommandsEnvironmentIsNotOurs() throws IOException, InterruptedException {
    assertThat(System.getenv()).isNotEmpty();
    assertThat(prober.inBox("environment")).isEqualTo("HOME LANG LOGNAME PATH SHELL TMPDIR USER");
    var secret = Map.of("EBB_TEST_SECRET", "x");
    assertThat(Prober.run(Prober.plainBwrap(List.of(), "environment"), secret))
        .contains("EBB_TEST_SECRET");
  }

  @Test
  void initsEnvironmentIsItsMakersOwn() throws IOException {
    TestHost.require(Feature.ROOT);
    Box box = prober.engine().create(BoxSpec.defaults());
    Path init = Path.of("/proc/" + box.footprint().pids().getFirst());
    assertThat(Files.readString(init.resolve("environ"))).isIn("", "PWD=/\0");
    assertThat(Files.readString(Path.of("/proc/self/environ"))).contains("PATH=");
  }

  /** The daemon of one command that has the stdout of another is no longer read once that ended. */
  @Test
  void aPipePassedToAnotherExecEndsWithItsOwn() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    var keeper =
        """
        import os, socket, sys, time
        server = socket.socket(socket.AF_UNIX); server.bind('/tmp/s'); server.listen()
        if os.fork(): sys.exit()
        peer, _ = server.accept()
        _, (fd,), _, _ = socket.recv_fds(peer, 1, 1)
        peer.recv(1)
        import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        while not os.path.exists('/tmp/go'): time.sleep(0.01)
        try: answer = str(os.write(fd, b'late'))
        except OSError as e: answer = str(e.errno)
        with open('/tmp/new', 'w') as new: new.write(answer)
        os.rename('/tmp/new', '/tmp/answer')
        """;
    var giver =
        """
        import socket
        client = socket.socket(socket.AF_UNIX); client.connect('/tmp/s')
        socket.send_fds(client, [b'x'], [1]); client.send(b'y')
        print('mine', flush=True)
        """;
    try (Exec first = start(box, keeper, true)) {
      assertThat(first.await().leftovers().kept()).hasSize(1);
    }
    try (Exec second = start(box, giver, false)) {
      assertThat(second.await().cause()).isEqualTo(new ExitCause.Exited(0));
      assertThat(CapturedOutput.of(second.stdout()).text()).isEqualTo("mine\n");
    }
    var ask = "touch /tmp/go; until cat /tmp/answer 2>/dev/null; do sleep 0.05; done";
    try (Exec third = prober.engine().start(box, sh(ask))) {
      assertThat(third.await(Duration.ofSeconds(20))).isPresent();
      assertThat(CapturedOutput.of(third.stdout()).text()).as("EPIPE").isEqualTo("32");
    }
  }

  private Exec start(Box box, String script, boolean keep) throws IOException {
    var spec = dev.ebb.model.ExecSpec.of("/usr/bin/python3", "-c", script);
    return prober.engine().start(box, keep ? spec.withKeep() : spec);
  }

  // -------------------------------------------------------------------- rights

  @Test
  void aCommandHasNoCapabilityAndCanGainNone() throws IOException, InterruptedException {
    String[] sets = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    String[] fields = {
      "status", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Groups"
    };
    String none = String.join("", Arrays.stream(sets).map(s -> s + "=0000000000000000 ").toList());
    assertThat(prober.inBox(fields)).isEqualTo(none + "NoNewPrivs=1 Seccomp=2 Groups=");
    assertThat(onHostAsRoot(fields)).doesNotContain("CapEff=0000000000000000", "NoNewPrivs=1");
  }

  @Test
  void aCommandCannotBecomeRoot() throws IOException, InterruptedException {
    assertThat(prober.inBox("become_root")).isIn("EPERM", "EINVAL");
    assertThat(onHostAsRoot("become_root")).isEqualTo("yes");
  }

  @Test
  void aSetUserIdProgramGivesNothing() throws IOException, InterruptedException {
    assertThat(prober.inBox("setuid_programs")).isEqualTo("0");
    assertThat(onHost("setuid_programs")).isNotEqualTo("0");
  }

  @Test
  void aLimitCanOnlyBeLowered() throws IOException, InterruptedException {
    var limits = List.of("NOFILE", "1025", "FSIZE", "268435457");
    for (int i = 0; i < limits.size(); i += 2) {
      assertThat(prober.inBox("raise_limit", limits.get(i), limits.get(i + 1)))
          .as(limits.get(i))
          .isEqualTo("EPERM");
    }
    assertThat(prober.inBox("renice")).isEqualTo("EACCES");
    assertThat(prober.inBox("realtime")).isEqualTo("EPERM");

    var more = Prober.probe("raise_limit", "NOFILE", "1025").withOpenFiles(2048);
    assertThat(prober.run(BoxSpec.defaults(), more)).isEqualTo("yes");
    assertThat(onHostAsRoot("renice")).isEqualTo("yes");
  }

  @Test
  void aCommandCannotMakeAUserNamespace() throws IOException, InterruptedException {
    assertThat(prober.inBox("user_namespace")).isEqualTo("xxx");
    assertThat(inPlainBwrap(List.of(), "user_namespace")).isEqualTo("ucc");
  }

  /** Beside the filter, the kernel's own count stops it; nsenter is under no filter. */
  @Test
  void noMoreUserNamespacesFitIntoThatOfABox() throws IOException, InterruptedException {
    Box box = prober.engine().create(BoxSpec.defaults());
    // Ours is the box's user there already, if we are not root.
    String user =
        Feature.ROOT.isPresent() ? "--setuid 1000 --setgid 1000" : "--preserve-credentials";
    String inBox =
        "nsenter --target %d --user %s unshare --user true 2>&1"
            .formatted(box.footprint().pids().getFirst(), user);
    assertThat(Prober.run(List.of("/bin/sh", "-c", inBox + " || true"))).contains("No space left");
    assertThat(inPlainBwrap(List.of(), "user_namespace")).isEqualTo("ucc");
    assertThat(inPlainBwrap(List.of("--disable-userns"), "user_namespace")).isEqualTo("xxx");
  }

  @Test
  void eachBoxHasAHostUserThatCannotReadAnothersFiles(@TempDir Path directory)
      throws IOException, InterruptedException, KernelException {
    TestHost.require(Feature.ROOT);
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    Box one = prober.engine().create(BoxSpec.defaults());
    Box other = prober.engine().create(BoxSpec.defaults());
    Path file = Files.writeString(directory.resolve("secret"), "of one");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    dev.ebb.kernel.Filesystem.chown(file, one.footprint().uid(), one.footprint().uid());

    assertThat(one.footprint().uid())
        .isNotEqualTo(other.footprint().uid())
        .isGreaterThanOrEqualTo(0x7000_0000);
    assertThat(Files.readString(Path.of("/proc/" + one.footprint().pids().getFirst() + "/status")))
        .contains("Uid:" + ("\t" + one.footprint().uid()).repeat(4) + "\n");
    assertThat(onHostAs(other.footprint().uid(), "read", file.toString())).isEqualTo("EACCES");
    assertThat(onHostAs(one.footprint().uid(), "read", file.toString())).isEqualTo("of one");
    assertThat(prober.in(other, "read", file.toString())).isEqualTo("ENOENT");
  }

  // --------------------------------------------------------------------- files

  @Test
  void aFileCanBeMadeOnlyInTheWorkspaceAndTheTmpfs() throws IOException, InterruptedException {
    assertThat(prober.inBox("places")).isEqualTo("/dev/shm /tmp /tmp/home /workspace");
    assertThat(inPlainBwrap(List.of(), "places").split(" ")).contains("/", "/dev", "/etc");
  }

  @Test
  void everyPlaceToWriteHasABound() throws IOException, InterruptedException {
    var limits =
        Limits.defaults().withDisk(ByteSize.mebibytes(3)).withTemporary(ByteSize.mebibytes(2));
    var spec = BoxSpec.defaults().withLimits(limits);
    String much = Long.toString(ByteSize.mebibytes(16).bytes());
    assertThat(prober.inBox(spec, "fill", "/workspace", much)).isEqualTo((3 << 20) + " ENOSPC");
    assertThat(prober.inBox(spec, "fill", "/tmp", much)).isEqualTo((2 << 20) + " ENOSPC");
    assertThat(prober.inBox(spec, "fill", "/dev/shm", much)).isEqualTo((2 << 20) + " ENOSPC");
    assertThat(inPlainBwrap(List.of(), "fill", "/tmp", much)).isEqualTo(much + " enough");
    assertThat(inPlainBwrap(List.of(), "fill", "/dev", much)).isEqualTo(much + " enough");
  }

  @Test
  void noSettingOfTheKernelCanBeWritten() throws IOException, InterruptedException {
    assertThat(prober.inBox("kernel_settings")).isEmpty();
    assertThat(onHostAsRoot("kernel_settings").split(" ")).contains("fs", "kernel", "net", "vm");
  }

  @Test
  void aBoxHasNoSysNoCgroupsAndNoKeys() throws IOException, InterruptedException {
    var look = sh("ls -d /sys /proc/kcore /run/* /home /root /var/lib /boot 2>&1; cat /proc/keys");
    var run = prober.engine().run(BoxSpec.defaults(), sh("ls -A / | tr '\\n' ' '"));
    assertThat(run.stdout().text())
        .isEqualTo("bin dev etc lib lib64 proc run sbin tmp usr var workspace ");
    assertThat(prober.engine().run(BoxSpec.defaults(), look).stdout().text())
        .doesNotContain("\n/sys", "\n/run", "keyring");
    assertThat(prober.inBox("read", "/proc/self/mountinfo")).doesNotContain("cgroup");
    assertThat(onHost("read", "/proc/self/mountinfo")).contains("cgroup");
  }

  @Test
  void aBoxLearnsNoPathOfOurs() throws IOException, InterruptedException {
    var look = sh("cat /proc/self/mountinfo /proc/self/cgroup /proc/1/cmdline /proc/1/cgroup");
    // KERNEL: /dev/root is the device that the kernel itself mounted when it came up.
    String seen = prober.run(BoxSpec.defaults(), look).replace("/dev/root", "");
    assertThat(seen).doesNotContain(prober.home().toString(), "instances", "/root", "/home");
  }

  // -------------------------------------------------------- memory of the host

  @Test
  void socketBuffersCountAsMemory() throws IOException, InterruptedException {
    TestHost.require(Feature.CGROUPS);
    var limits = Limits.defaults().withMemory(ByteSize.mebibytes(64));
    var spec = BoxSpec.defaults().withLimits(limits);
    String much = Long.toString(ByteSize.mebibytes(128).bytes());
    long most = ByteSize.mebibytes(24).bytes();
    var run = prober.engine().run(spec, Prober.probe("hoard_datagrams", much));
    // On cgroup v1 what is too much is dropped, on v2 it may also be the end.
    if (!(run.cause() instanceof ExitCause.OutOfMemory)) {
      assertThat(Long.parseLong(run.stdout().text().strip())).isLessThan(most);
    }
    assertThat(Long.parseLong(onHost("hoard_datagrams", much))).isGreaterThan(2 * most);
  }

  @Test
  void systemVSegmentsCountAsMemory() throws IOException, InterruptedException {
    TestHost.require(Feature.CGROUPS);
    var small = BoxSpec.defaults().withLimits(Limits.defaults().withMemory(ByteSize.mebibytes(64)));
    String more = Long.toString(ByteSize.mebibytes(80).bytes());
    var run = prober.engine().run(small, Prober.probe("shared_memory", more));
    assertThat(run.cause()).isInstanceOf(ExitCause.OutOfMemory.class);
    assertThat(prober.inBox("shared_memory", more)).isEqualTo("yes");
  }
}
