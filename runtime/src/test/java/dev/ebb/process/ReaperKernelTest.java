package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.FakeClock;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Which zombies are reaped and when; one of ours is an orphan that this JVM adopted. */
@Tag("kernel")
@LeakChecked
class ReaperKernelTest {
  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final Duration MOMENT = Duration.ofMillis(1);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.CGROUPS);

  private final FakeClock clock = new FakeClock();
  private final Reaper reaper = new Reaper(clock, PATIENCE);

  /** Starts a shell that leaves a child behind, and waits until the child is our zombie. */
  private static ProcessRef zombie(String script) throws IOException, InterruptedException {
    Process shell = new ProcessBuilder("sh", "-c", script + " sleep 0.3 & echo $!").start();
    int pid =
        Integer.parseInt(
            new String(shell.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip());
    shell.waitFor();
    int self = (int) ProcessHandle.current().pid();
    Awaitility.await()
        .until(() -> ProcFs.stat(pid).filter(s -> s.isZombie() && s.parent() == self).isPresent());
    return ProcessRef.of(pid).orElseThrow();
  }

  private int reapStrangers() throws KernelException {
    return reaper.reap(pid -> false);
  }

  @Test
  void anOrphanIsReapedOnlyWhenUnclaimedForTheWholePatience() throws Exception {
    ProcessRef stranger = zombie("");
    assertThat(reapStrangers()).isZero();
    clock.advance(PATIENCE.minus(MOMENT));
    assertThat(reapStrangers()).isZero();
    assertThat(stranger.exists()).isTrue();

    clock.advance(MOMENT);
    assertThat(reapStrangers()).isOne();
    assertThat(stranger.exists()).isFalse();
  }

  @Test
  void thePatienceWithAStrangerBeginsWhenItIsFirstSeenDead() throws Exception {
    ProcessRef first = zombie("");
    reapStrangers();
    clock.advance(PATIENCE.dividedBy(2));
    ProcessRef second = zombie("");
    reapStrangers();

    clock.advance(PATIENCE.dividedBy(2));
    assertThat(reapStrangers()).isOne();
    assertThat(first.exists()).isFalse();
    assertThat(second.exists()).isTrue();
    clock.advance(PATIENCE);
    assertThat(reapStrangers()).isOne();
  }

  @Test
  void aZombieOfOurCgroupIsReapedAtOnceAndAStrangerBesideItIsNot() throws Exception {
    Path unified = Hierarchies.detect().unified().orElseThrow();
    String name = "ebb-reaper-" + ProcessHandle.current().pid();
    Cgroup cgroup = Cgroup.create(unified.resolve(name));
    try {
      ProcessRef stranger = zombie("");
      ProcessRef ours = zombie("echo $$ > " + cgroup.path().resolve("cgroup.procs") + ";");
      assertThat(
              reaper.reap(
                  pid -> ProcFs.cgroup(pid).filter(path -> path.equals("/" + name)).isPresent()))
          .isOne();
      assertThat(ours.exists()).isFalse();
      assertThat(stranger.exists()).isTrue();
      clock.advance(PATIENCE);
      assertThat(reapStrangers()).isOne();
    } finally {
      Filesystem.rmdir(cgroup.path());
    }
    assertThat(Files.exists(cgroup.path())).isFalse();
  }

  @Test
  void theLivingAreNeverReaped() throws Exception {
    Process sleeper = new ProcessBuilder("sleep", "1000").start();
    try {
      reaper.reap(pid -> true);
      clock.advance(PATIENCE);
      assertThat(reaper.reap(pid -> true)).isZero();
      assertThat(sleeper.isAlive()).isTrue();
    } finally {
      sleeper.destroyForcibly().waitFor();
    }
  }
}
