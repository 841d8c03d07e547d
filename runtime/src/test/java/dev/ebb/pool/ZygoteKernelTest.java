package dev.ebb.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.backend.forkserver.ZygoteBackend;
import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A copied python3 behaves like a new one, and is isolated like one. */
final class ZygoteKernelTest extends PythonKernelTest {
  /** Describes a process and its rights, independent of how it was started. */
  private static final String LOOK =
      """
      import ctypes, os, re
      fields = ('Uid', 'Gid', 'Groups', 'Cap', 'NoNewPrivs', 'Seccomp', 'CoreDumping', 'Threads', 'Sig', 'Shd')
      print(*(line for line in open('/proc/self/status') if line.startswith(fields)))
      print(*sorted(re.sub(r'^\\S+ \\S+ \\S+|[ug]id=\\d+', '', line) for line in open('/proc/self/mountinfo')))
      print(open('/proc/self/oom_score_adj').read(), open('/proc/self/limits').read())
      print(re.sub('b[0-9a-f]{12}', 'box', open('/proc/self/cgroup').read()))
      print(os.getresuid(), os.getresgid(), os.getgroups(), os.uname().nodename, os.sched_getaffinity(0))
      libc = ctypes.CDLL(None, use_errno=True)
      print([libc.prctl(option, 0, 0, 0, 0) for option in (2, 3, 7, 27, 37, 39)])
      print([libc.prctl(23, capability, 0, 0, 0) for capability in range(41)])
      def attempt(name, *arguments):
          print(name, getattr(libc, name)(*arguments), ctypes.get_errno())
      attempt('unshare', 0x10000000)
      attempt('unshare', 0x20000)
      attempt('setns', 0, 0)
      attempt('mount', None, b'/tmp', b'tmpfs', 0, None)
      attempt('umount2', b'/tmp', 2)
      attempt('ptrace', 16, 1, 0, 0)
      attempt('setuid', 0)
      attempt('chroot', b'/')
      attempt('socket', 40, 1, 0)
      for path in ('/proc/1/environ', '/proc/1/maps', '/proc/1/mem', '/proc/1/fd', '/proc/sys/kernel/shmmax', '/x',
              '/usr/x', '/dev/x', '/tmp/x', '/workspace/x', '/dev/shm/x', '/etc/x', '/run/x'):
          try:
              print(path, os.open(path, os.O_RDWR | os.O_CREAT) > 0)
          except OSError as e:
              print(path, e)
      print([pid for pid in os.listdir('/proc') if pid.isdigit()], os.listdir('/dev/pts'), os.listdir('/'))
      print([os.readlink('/proc/self/' + name) for name in ('exe', 'cwd', 'root')])
      print(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys') else None)
      """;

  private static final String DRAWN =
      """
      import numpy.random, os, random, secrets, ssl, tempfile, uuid
      print(random.random(), random.Random().random(), os.urandom(9).hex(), secrets.token_hex(9))
      print(numpy.random.rand(), numpy.random.default_rng().random(), ssl.RAND_bytes(9).hex())
      print(uuid.uuid4(), hex(uuid.getnode()), next(tempfile._get_candidate_names()))
      """;

  private static final List<String> DRAWING = List.of("numpy", "random", "ssl", "tempfile", "uuid");

  private PoolPolicy.Copies copies = PoolPolicy.Copies.DEFAULT;
  private boolean wasKilled;
  private boolean canBe;

  @BeforeEach
  void require() {
    TestHost.require(Feature.CGROUPS, Feature.ROOT);
    canBe = true;
  }

  @Override
  WarmRuns open(Path home) {
    return new WarmRuns(home, Interpreter.PYTHON, policy -> policy.withCopies(copies));
  }

  /** Checks that a zygote existed, so the results are not equal only for lack of a copy. */
  @AfterEach
  void thereWasOne() {
    Awaitility.await().until(() -> !canBe || wasKilled || !zygotes().isEmpty());
  }

  private PoolItem copy(ExecSpec spec) throws InterruptedException {
    PoolItem item = runs.warm(spec);
    assertThat(item.box().footprint().backend()).contains(ZygoteBackend.NAME);
    return item;
  }

  private WarmRuns.Run run(ExecSpec spec) throws InterruptedException {
    PoolItem item = copy(spec);
    return runs.run(item.begin(), item.box(), "");
  }

  private List<ProcessRef> zygotes() {
    return runs.engine.holdings().stream()
        .filter(held -> held.box().equals(ZygoteBackend.NAME) && held.kind() == Kind.PROCESS)
        .map(held -> ProcessRef.parse(held.subject()))
        .toList();
  }

  /** The runner is the same, and so is what it does with a file. */
  @Override
  @Tag("long")
  @ParameterizedTest
  @MethodSource("files")
  void itIsTheSameOfAFile(String code) throws Exception {
    super.itIsTheSameOfAFile(code);
  }

  @Test
  void aCopyIsAndMayNoMoreThanACommandThatIsExecuted() throws Exception {
    // The first box of an engine is bwrap's, which mounts in another order.
    assertThat(runs.engine.release(runs.engine.create(BoxSpec.defaults())).isClean()).isTrue();
    WarmRuns.Run run = runs.assertSame(python(LOOK), "");
    assertThat(run.stderr()).isEmpty();
    assertThat(run.stdout()).contains("NoNewPrivs:\t1", "Seccomp:\t2", "CapBnd:\t0000000000000000");
  }

  @Test
  void aCopyIsInNoNamespaceOfAnother() throws Exception {
    var code = python("import time; time.sleep(100)");
    PoolItem one = copy(code);
    PoolItem other = copy(code);
    Exec first = one.begin();
    Exec second = other.begin();
    var seen = new ArrayList<List<String>>();
    for (int pid : List.of(hostPid(first), hostPid(second), zygotes().getFirst().pid())) {
      var own = new ArrayList<String>();
      for (String kind : List.of("mnt", "pid", "ipc", "uts", "net", "user")) {
        own.add(Files.readSymbolicLink(Path.of("/proc/" + pid + "/ns/" + kind)).toString());
      }
      seen.add(own);
    }
    for (int i = 0; i < seen.getFirst().size(); i++) {
      assertThat(Set.of(seen.get(0).get(i), seen.get(1).get(i))).hasSize(2);
      assertThat(seen.get(2).get(i)).isNotIn(seen.get(0).get(i), seen.get(1).get(i));
    }
    assertThat(uid(first)).isNotIn(uid(second), "0");
    assertThat(ProcFs.cgroup(hostPid(first)).orElseThrow())
        .contains("/" + one.box().id() + "/work/");
    for (PoolItem item : List.of(one, other)) {
      assertThat(runs.engine.release(item.box()).isClean()).isTrue();
    }
  }

  private static int hostPid(Exec exec) {
    return exec.pids().iterator().next();
  }

  private static String uid(Exec exec) throws Exception {
    return Files.getAttribute(Path.of("/proc/" + hostPid(exec)), "unix:uid").toString();
  }

  @Test
  void whatIsRandomIsDrawnAnewInEachCopy() throws Exception {
    TestHost.require(Feature.CGROUPS);
    runs.preload(DRAWING);
    var drawn = new ArrayList<String>();
    for (int i = 0; i < 3; i++) {
      WarmRuns.Run run = run(python(DRAWN));
      assertThat(run.stderr()).isEmpty();
      drawn.addAll(List.of(run.stdout().strip().split("\\s+")));
    }
    assertThat(zygotes()).hasSize(1);
    assertThat(drawn).hasSize(30).doesNotHaveDuplicates();
  }

  @Test
  void nothingThatOneCopyDoesIsSeenByTheNext() throws Exception {
    runs.preload(List.of("json", "decimal"));
    var soils =
        python(
            "import json, decimal, os; json.soiled = 1; decimal.getcontext().prec = 3;"
                + " os.environ['SOILED'] = '1'; open('/tmp/soiled', 'w'); print(1)");
    var looks =
        python(
            "import json, decimal, os; print(hasattr(json, 'soiled'), decimal.getcontext().prec,"
                + " 'SOILED' in os.environ, os.path.exists('/tmp/soiled'))");
    assertThat(run(soils).stdout()).isEqualTo("1\n");
    assertThat(run(looks).stdout()).isEqualTo("False 28 False False\n");
  }

  @Test
  void theBoxOfACopyTakesOtherCommandsTooButNoSecondCopy() throws Exception {
    PoolItem item = copy(python("import time; time.sleep(100)"));
    Exec copy = item.begin();
    Box box = item.box();
    assertThat(runs.engine.start(box, ExecSpec.of("python3", "-c", "pass")).await().cause())
        .isEqualTo(new ExitCause.Exited(0));
    assertNoCopy(box);
    copy.signal(Signal.TERM);
    assertThat(copy.await().cause()).isEqualTo(new ExitCause.Signalled(15));
    assertThat(runs.engine.release(box).isClean()).isTrue();
  }

  private void assertNoCopy(Box box) {
    Exec exec = runs.engine.start(box, ExecSpec.of("python3").withResumption());
    assertThatThrownBy(exec::await)
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("REQUEST");
  }

  /** What was there before the program lies where it lies in its siblings. */
  @Test
  void whatAProgramAllocatesLiesElsewhereThanInItsSiblings() throws Exception {
    var code =
        python(
            "import ctypes; b = bytearray(1 << 23);"
                + " print(id(print), ctypes.addressof(ctypes.c_char.from_buffer(b)))");
    var old = new TreeSet<String>();
    var recent = new TreeSet<String>();
    for (int i = 0; i < 3; i++) {
      String[] addresses = run(code).stdout().split(" ");
      old.add(addresses[0]);
      recent.add(addresses[1]);
    }
    assertThat(old).hasSize(1);
    assertThat(recent).hasSize(3);
  }

  @Test
  void afterSoManyCopiesAnotherIsCopied() throws Exception {
    copies = new PoolPolicy.Copies(Duration.ofHours(1), 2);
    runs.preload(List.of());
    assertThat(generations(6)).hasSizeBetween(3, 4);
  }

  @Test
  void afterSomeTimeAnotherIsCopied() throws Exception {
    copies = new PoolPolicy.Copies(Duration.ofMillis(1), 1000);
    runs.preload(List.of());
    assertThat(generations(3)).hasSizeBetween(3, 4);
  }

  @Test
  void oneIsCopiedForLong() throws Exception {
    assertThat(generations(4)).hasSize(1);
  }

  /** The seed of hashes is the zygote's own. */
  private Set<String> generations(int runs) throws InterruptedException {
    var seen = new TreeSet<String>();
    for (int i = 0; i < runs; i++) {
      seen.add(run(python("print(hash('seed'))")).stdout());
    }
    // A zygote that was copied often enough may have ended, before the next one is ready.
    Awaitility.await()
        .atMost(TestHost.patience(Duration.ofSeconds(10)))
        .until(() -> zygotes().size() == 1);
    return seen;
  }

  @Test
  void aZygoteThatDiesTakesNoBoxAlongAndPythonIsStartedForTheNext() throws Exception {
    PoolItem item = copy(python("print(input())").withInput());
    ProcessRef zygote = zygotes().getFirst();
    wasKilled = true;
    try (var scope = new Scope()) {
      Pidfd.open(scope, zygote.pid()).signal(Signal.KILL);
    }
    PoolItem next = runs.warm(python("print(1)"));
    assertThat(runs.run(item.begin(), item.box(), "alive\n").stdout()).isEqualTo("alive\n");
    assertThat(runs.run(next.begin(), next.box(), "").stdout()).isEqualTo("1\n");
    PoolItem third = runs.warm(python("print(2)"));
    assertThat(runs.run(third.begin(), third.box(), "").stdout()).isEqualTo("2\n");
  }

  /** No more than one waits, so most of these cannot have. */
  @Test
  void aRunThatFindsNoneGetsACopyMadeForIt() throws Exception {
    var spec = python("import sys; print(input(), len(sys.argv))").withInput();
    var items = new ArrayList<>(List.of(copy(spec)));
    for (int i = 0; i < 4; i++) {
      items.add(runs.take(spec));
    }
    for (PoolItem item : items) {
      assertThat(item.box().footprint().backend()).contains(ZygoteBackend.NAME);
      var run = runs.run(item.begin(), item.box(), "in\n");
      assertThat(run.stdout()).as(run.stderr()).isEqualTo("in 1\n");
    }
  }

  /** Each first access is a page fault; a waiting interpreter should have few. */
  @Test
  void itHasTouchedWhatAProgramNeedsBeforeItIsHandedOut() throws Exception {
    var spec = python("print(open('/proc/self/stat').read().rsplit(')')[1].split()[7])");
    PoolItem item = copy(spec);
    int waiting =
        item.box().footprint().pids().stream()
            .filter(pid -> ProcFs.name(pid).equals(Optional.of(Interpreter.WAITING)))
            .findFirst()
            .orElseThrow();
    String before = Files.readString(Path.of("/proc", Integer.toString(waiting), "stat"));
    var run = runs.run(item.begin(), item.box(), "");
    long faults = Long.parseLong(run.stdout().strip());
    assertThat(faults - Long.parseLong(before.split("\\) ", 2)[1].split(" ")[7])).isLessThan(40);
  }

  @Test
  void itsLimitsAreThoseOfItsOrder() throws Exception {
    var spec =
        python("import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), flush=True); input()")
            .withInput()
            .withOpenFiles(77)
            .withTimeout(TestHost.patience(Duration.ofSeconds(3)));
    PoolItem waited = copy(spec);
    Exec first = waited.begin();
    PoolItem made = runs.take(spec);
    Exec second = made.begin();
    for (Exec exec : List.of(first, second)) {
      assertThat(exec.await().cause()).isInstanceOf(ExitCause.TimedOut.class);
      assertThat(Outputs.text(exec.stdout())).isEqualTo("(77, 77)\n");
    }
    runs.release(waited);
    runs.release(made);
  }

  @Test
  void aBoxThatIsNotForPythonIsNotMadeByAZygote() throws Exception {
    Box box = runs.engine.create(BoxSpec.defaults());
    assertThat(box.footprint().backend()).isNotEqualTo(Optional.of(ZygoteBackend.NAME));
    assertNoCopy(box);
    assertThat(runs.engine.release(box).isClean()).isTrue();
  }

  @Test
  void withoutInterpretersThereIsNoZygote() {
    var policy = new PoolPolicy(0, 1, Duration.ofHours(1), Map.of(), List.of());
    assertThat(policy.withCopies(PoolPolicy.Copies.DEFAULT).zygote(List.of())).isEmpty();
  }
}
