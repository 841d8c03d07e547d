package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.model.ExitCause.Killed;
import dev.ebb.model.ExitCause.OutOfMemory;
import dev.ebb.model.ExitCause.Signalled;
import dev.ebb.model.Limits;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each limit stops a command that exceeds it, reports that, and leaves a box that still works. Each
 * limit has a control: the same program succeeds below the limit, or without it.
 */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class ExhaustionKernelTest {
  private static final Limits SMALL = Limits.defaults().withMemory(ByteSize.mebibytes(64));

  /** Without cgroups memory is sampled now and then: a process must stay to be seen. */
  private static final String EATS_200_MEGABYTES =
      "import sys, time; eaten = bytearray(200_000_000); time.sleep(int(sys.argv[1]))";

  private static final ExecSpec EATER = python(EATS_200_MEGABYTES, "1000");

  @RegisterExtension final Workbench bench = new Workbench();

  // --- memory ---

  @Test
  void aCommandBeyondItsMemoryIsOutOfMemory()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(SMALL);
    ExecResult result = bench.run(box, EATER);
    assertThat(result.cause()).isEqualTo(new OutOfMemory(new Exit(0, 9)));
    assertThat(result.cause().status()).isEqualTo("out-of-memory");
    assertThat(result.cause().code()).isEqualTo(137);
    assertThat(result.usage().oomKills()).isPositive();
    assertThat(result.usage().peakMemoryBytes())
        .isBetween(
            32L << 20, bench.hasSubreapers() ? 256L << 20 : SMALL.memory().bytes() + (1 << 20));
    assertIdle(box);
  }

  @Test
  void withMoreMemoryTheSameCommandSucceeds() throws IOException, InterruptedException {
    var run = bench.run(python(EATS_200_MEGABYTES, "0"));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.result().usage().oomKills()).isZero();
    assertThat(run.result().usage().peakMemoryBytes()).isGreaterThan(200_000_000);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 137})
  void aShellThatFailsForItsStarvedChildIsOutOfMemory(int code)
      throws IOException, InterruptedException {
    var run = bench.run(SMALL, sh(child() + " || exit " + code));
    assertThat(run.cause()).isInstanceOf(OutOfMemory.class);
  }

  @Test
  void aShellThatWouldOutliveItsStarvedChildIsEndedWithIt()
      throws IOException, InterruptedException {
    var run = bench.run(SMALL, sh(child() + "; exec sleep 1000").withTimeout(Duration.ZERO));
    assertThat(run.cause()).isInstanceOf(OutOfMemory.class);
  }

  /**
   * The command may end before it can be killed; then its own exit status counts, and the memory
   * figure shows what happened.
   */
  @Test
  void aShellThatSucceedsInSpiteOfItsStarvedChildShowsIt()
      throws IOException, InterruptedException {
    var run = bench.run(SMALL, sh(child() + "; exit 0"));
    assertThat(run.cause()).isInstanceOfAny(Exited.class, OutOfMemory.class);
    assertThat(run.result().usage().oomKills()).isPositive();
  }

  private static String child() {
    return "python3 -c '" + EATS_200_MEGABYTES + "' 1000";
  }

  @Test
  void afterAnOutOfMemoryTheNextCommandIsJudgedByItself()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(SMALL);
    assertThat(bench.run(box, EATER).cause()).isInstanceOf(OutOfMemory.class);
    assertThat(bench.run(box, sh("exit 1")).cause()).isEqualTo(new Exited(1));
    assertThat(bench.run(box, sh("kill -KILL $$")).cause()).isEqualTo(new Signalled(9));
    bench.assertUsable(box);
  }

  @Test
  void aCommandThatHadFailedBeforeIsNotOutOfMemory() throws IOException, InterruptedException {
    Box box = bench.box(SMALL);
    Exec failed = bench.start(box, sh("exit 1"));
    Workbench.eventually().until(() -> failed.stdout().isEnd(0));
    assertThat(bench.run(box, EATER).cause()).isInstanceOf(OutOfMemory.class);
    assertThat(Workbench.await(failed).cause()).isEqualTo(new Exited(1));
  }

  /** The workspace is memory, too. */
  @Test
  void aWorkspaceThatEatsAllMemoryIsOutOfMemoryAndReleased()
      throws IOException, InterruptedException {
    TestHost.require(Feature.CGROUPS);
    var run = bench.run(SMALL, sh("head -c 200000000 /dev/zero > file"));
    assertThat(run.cause()).isInstanceOf(OutOfMemory.class);
  }

  /** Empty files have no bytes for the disk limit; their inodes are memory. */
  @Test
  void emptyFilesWithoutEndAreOutOfMemoryAndReleased() throws IOException, InterruptedException {
    TestHost.require(Feature.CGROUPS);
    var run =
        bench.run(
            Limits.defaults().withMemory(ByteSize.mebibytes(24)),
            python(
                """
                import os
                for i in range(10_000_000): os.close(os.open(str(i), os.O_CREAT))
                """));
    assertThat(run.cause()).isInstanceOf(OutOfMemory.class);
  }

  // --- pids ---

  /** Forks until it is refused and prints how many children it had. */
  private static final ExecSpec FORKER =
      python(
          """
          import os, time
          children = 0
          try:
              while children < 50:
                  if os.fork() == 0: time.sleep(1000)
                  children += 1
          except OSError as e: print(e.strerror, flush=True)
          print(children, flush=True)
          """);

  @Test
  void thePidsLimitIsExactAndVisible() throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Limits.defaults().withPids(10));
    Exec exec = bench.start(box, FORKER);
    ExecResult result = Workbench.await(exec);
    assertThat(text(exec.stdout())).isEqualTo("Resource temporarily unavailable\n9\n");
    assertThat(result.cause()).isEqualTo(new Exited(0));
    assertThat(result.usage().pidsRefused()).isEqualTo(1);
    assertThat(result.usage().peakPids()).isEqualTo(10);
    assertThat(result.leftovers().count()).isEqualTo(9);
    // A cgroup counts for all commands of its box so far, init for each by itself.
    assertThat(bench.run(box, sh("true")).usage().pidsRefused())
        .isEqualTo(bench.hasSubreapers() ? 0 : 1);
    bench.assertUsable(box);
  }

  /** Without cgroups a refused process cannot be distinguished from one that just fits. */
  @Test
  void belowThePidsLimitNothingIsRefused() throws IOException, InterruptedException {
    var run = bench.run(Limits.defaults().withPids(bench.hasSubreapers() ? 52 : 51), FORKER);
    assertThat(run.stdout().text()).isEqualTo("50\n");
    assertThat(run.result().usage().pidsRefused()).isZero();
    assertThat(run.result().usage().peakPids()).isEqualTo(51);
  }

  @Test
  void aThreadBombIsRefusedAndItsBoxWorksOn()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Unruly.THREAD_BOMB.limits());
    Exec bomb = bench.start(box, Unruly.THREAD_BOMB.spec());
    awaitOutput(bomb, "ready");
    ExecResult result = bomb.killAndAwait(Duration.ZERO);
    assertThat(result.usage().pidsRefused()).isPositive();
    assertThat(result.usage().peakPids()).isEqualTo(Unruly.THREAD_BOMB.limits().pids());
    bench.assertUsable(box);
  }

  @Test
  void whereNoPidIsLeftASecondCommandIsRefusedForTheTimeBeing()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Unruly.THREAD_BOMB.limits());
    Exec bomb = bench.start(box, Unruly.THREAD_BOMB.spec());
    awaitOutput(bomb, "ready");
    Exec second = bench.start(box, sh("true"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(second::await)
        .withMessageContaining("EAGAIN")
        .satisfies(e -> assertThat(e.code()).isEqualTo(ErrorCode.SETUP_FAILED));
    assertThat(bomb.killAndAwait(Duration.ZERO).cause()).isInstanceOf(Killed.class);
    bench.assertUsable(box);
  }

  /** Init takes 256 at once. */
  @Test
  void oneCommandTooManyIsRefusedAndTheOthersGoOn()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(Limits.defaults().withPids(400));
    var execs = new ArrayList<Exec>();
    for (int i = 0; i < 256; i++) {
      execs.add(bench.start(box, ExecSpec.of("sleep", "1000")));
    }
    Exec last = bench.start(box, sh("true"));
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(last::await)
        .withMessageContaining("EAGAIN")
        .satisfies(e -> assertThat(e.code().isRetryable()).isTrue());
    execs.forEach(exec -> exec.kill(Duration.ZERO));
    for (Exec exec : execs) {
      assertThat(Workbench.await(exec).cause()).isEqualTo(new Killed(new Exit(0, 9)));
    }
    bench.assertUsable(box);
  }

  // --- descriptors ---

  private static final ExecSpec OPENER =
      python(
          """
          import os, time
          last = 2
          try:
              while last < 500: last = os.open("/dev/null", os.O_RDONLY)
          except OSError as e: print(e.strerror, flush=True)
          print(last, flush=True)
          """);

  @Test
  void theLimitOfOpenFilesIsExact() throws IOException, InterruptedException {
    var run = bench.run(OPENER.withOpenFiles(64));
    assertThat(run.stdout().text()).isEqualTo("Too many open files\n63\n");
  }

  @Test
  void belowTheLimitOfOpenFilesAllAreOpened() throws IOException, InterruptedException {
    assertThat(bench.run(OPENER).stdout().text()).isEqualTo("500\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"RLIMIT_NOFILE", "RLIMIT_FSIZE"})
  void noLimitIsRaisedFromWithin(String name) throws IOException, InterruptedException {
    var run =
        bench.run(
            python(
                """
                import resource, sys
                limit = getattr(resource, sys.argv[1])
                soft, hard = resource.getrlimit(limit)
                try: resource.setrlimit(limit, (hard + 1, hard + 1))
                except ValueError as e: print(soft == hard, e)
                """,
                name));
    assertThat(run.stdout().text()).isEqualTo("True not allowed to raise maximum limit\n");
  }

  /** Init needs none of the command's descriptors to end it. */
  @Test
  void aCommandWithoutADescriptorLeftIsKilledLikeAnyOther()
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    Exec exec =
        bench.start(
            box,
            python(
                """
                import os, time
                try:
                    while True: os.dup(1)
                except OSError: os.write(1, b"ready\\n")
                time.sleep(1000)
                """));
    awaitOutput(exec, "ready");
    bench.run(box, sh("true"));
    assertThat(exec.killAndAwait(Duration.ofSeconds(60)).cause())
        .isEqualTo(new Killed(new Exit(0, 15)));
    assertIdle(box);
  }

  // --- disk ---

  private static final Limits FOUR_MEBIBYTES =
      Limits.defaults().withDisk(ByteSize.mebibytes(4)).withTemporary(ByteSize.mebibytes(4));

  /** Writes eight mebibytes to a file of its working directory. */
  private static ExecSpec filler(String directory) {
    return python(
            """
            import os
            file = os.open("file", os.O_CREAT | os.O_WRONLY)
            written = 0
            try:
                while written < 8 << 20: written += os.write(file, bytes(1 << 16))
            except OSError as e: print(e.strerror)
            print(written)
            """)
        .withWorkdir(directory);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/workspace", "/tmp", "/dev/shm"})
  void aFullDiskIsNoSpaceLeftAndItsBoxWorksOn(String directory)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box(FOUR_MEBIBYTES);
    Exec exec = bench.start(box, filler(directory));
    assertThat(Workbench.await(exec).cause()).isEqualTo(new Exited(0));
    assertThat(text(exec.stdout())).isEqualTo("No space left on device\n4194304\n");
    bench.assertUsable(box);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/workspace", "/tmp", "/dev/shm"})
  void onALargerDiskTheSameFits(String directory) throws IOException, InterruptedException {
    assertThat(bench.run(filler(directory)).stdout().text()).isEqualTo("8388608\n");
  }

  /** Otherwise all of the host's memory, or disk, were in reach. */
  @Test
  void nothingElseIsWritable() throws IOException, InterruptedException {
    var run = bench.run(sh("for d in / /dev /run /etc /usr /var; do touch $d/x && echo $d; done"));
    assertThat(run.stdout().text()).isEmpty();
  }

  // --- file size ---

  @Test
  void aFileBeyondItsSizeIsRefused() throws IOException, InterruptedException {
    var limited = filler("/workspace").withFileSize(ByteSize.mebibytes(1));
    assertThat(bench.run(limited).stdout().text()).isEqualTo("File too large\n1048576\n");
    assertThat(bench.run(filler("/workspace")).stdout().text()).isEqualTo("8388608\n");
  }

  @Test
  void aProgramThatDoesNotCareForItsFileSizeDiesOfIt() throws IOException, InterruptedException {
    var spec = ExecSpec.of("dd", "if=/dev/zero", "of=file", "bs=64k", "count=64", "status=none");
    assertThat(bench.run(spec.withFileSize(ByteSize.mebibytes(1))).cause())
        .isEqualTo(new Signalled(25));
    assertThat(bench.run(spec).cause()).isEqualTo(new Exited(0));
  }

  /** The log is not the command's file. */
  @Test
  void theFileSizeDoesNotLimitOutput() throws IOException, InterruptedException {
    var run = bench.run(sh("head -c 1000000 /dev/zero").withFileSize(new ByteSize(1000)));
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.result().stdoutSize()).isEqualTo(1_000_000);
  }

  // --- processors ---

  private static final ExecSpec BURNS_200_MILLISECONDS =
      python("import time\nwhile time.process_time() < 0.2: pass");

  @Test
  void aFractionOfAProcessorTakesItsTime() throws IOException, InterruptedException {
    TestHost.require(Feature.CGROUPS);
    var run = bench.run(Limits.defaults().withCpus(0.2), BURNS_200_MILLISECONDS);
    assertThat(run.cause()).isEqualTo(new Exited(0));
    assertThat(run.result().usage().cpu()).isGreaterThanOrEqualTo(Duration.ofMillis(200));
    // 20 ms in each 100 ms: ten shares, of which the first two may come at once.
    assertThat(run.result().wall()).isGreaterThanOrEqualTo(Duration.ofMillis(750));
  }

  @Test
  void wholeProcessorsAreNotThrottled() throws IOException, InterruptedException {
    var run = bench.run(BURNS_200_MILLISECONDS);
    assertThat(run.result().usage().cpu()).isGreaterThanOrEqualTo(Duration.ofMillis(200));
    assertThat(run.cause()).isEqualTo(new Exited(0));
  }

  /** Init shares the box's processors, and must still end the command. */
  @Test
  void aThrottledCommandIsEndedAtItsTimeout() throws IOException, InterruptedException {
    var spec = python("while True: pass").withTimeout(Duration.ofMillis(300));
    var run = bench.run(Limits.defaults().withCpus(0.1), spec);
    assertThat(run.cause().status()).isEqualTo("timed-out");
  }

  // --- all at once ---

  @Test
  void aBoxWithEverythingExhaustedIsReleased() throws IOException, InterruptedException {
    Box box = bench.box(FOUR_MEBIBYTES.withPids(40).withMemory(ByteSize.mebibytes(128)));
    bench.run(box, filler("/workspace"));
    bench.run(box, filler("/tmp"));
    bench.run(box, filler("/dev/shm"));
    Exec bomb = bench.start(box, Unruly.FORK_BOMB.spec());
    awaitOutput(bomb, "ready");
    var certificate = bench.engine().release(box);
    assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
    // Without cgroups what forked processes share counts for each of them, and may be too much
    // before.
    var first = Feature.CGROUPS.isPresent() ? Killed.class : OutOfMemory.class;
    assertThat(Workbench.await(bomb).cause()).isInstanceOfAny(Killed.class, first);
  }
}
