package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The two processes around a daemon, and which of them may be killed. No other process reaps here.
 */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonSupervisorAcceptanceTest {
  private static final int KILLED = 137;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  /** Boxes that run something; all that is below the process a shell sees. */
  private Set<Long> work() throws Exception {
    EbbClient client = daemon.client();
    for (String name : List.of("a", "b", "c")) {
      client.boxes().create(BoxRequest.defaults().withName(name));
      client.execs(name).start(ExecRequest.of("sh", "-c", "sleep 1000 & exec sleep 1000"));
    }
    Set<Long> below = HostProcesses.below(daemon.process().pid());
    assertThat(below).contains(daemon.pid()).hasSizeGreaterThanOrEqualTo(2 + 3 * 2);
    return below;
  }

  private static void kill(long pid) {
    assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue();
  }

  /** Zombies are there, too. */
  private static void awaitGone(Set<Long> pids) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () -> assertThat(pids).noneMatch(pid -> Files.exists(Path.of("/proc/" + pid))));
  }

  private int status() throws InterruptedException {
    assertThat(daemon.process().waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .isTrue();
    return daemon.process().exitValue();
  }

  private void assertTheNextServes() throws Exception {
    daemon.start();
    assertThat(daemon.client().boxes().list(BoxQuery.all()))
        .allMatch(each -> each.state() == BoxState.GONE);
  }

  @Test
  void aKilledDaemonLeavesNoProcessAndNoZombie() throws Exception {
    Set<Long> all = work();
    kill(daemon.pid());
    assertThat(status()).isEqualTo(KILLED);
    awaitGone(all);
    assertTheNextServes();
  }

  @Test
  void killingWhatAShellSeesKillsTheDaemon() throws Exception {
    Set<Long> all = work();
    long inner = parent(daemon.pid());
    kill(daemon.process().pid());
    assertThat(status()).isEqualTo(KILLED);
    all.remove(inner);
    awaitGone(all);
    // Its parent is gone: a process above this one reaps it.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () -> {
              TestHost.reapOrphans();
              return !Files.exists(Path.of("/proc/" + inner));
            });
    assertTheNextServes();
  }

  @Test
  void aDaemonWithAKilledInnerSupervisorServesOnAndEndsCleanly() throws Exception {
    Set<Long> all = work();
    kill(parent(daemon.pid()));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> parent(daemon.pid()) == daemon.process().pid());
    assertThat(daemon.client().boxes().list(BoxQuery.all())).hasSize(3);
    assertThat(daemon.stop()).isZero();
    awaitGone(all);
  }

  /** A process that lives on falls to the next subreaper: here to this test. */
  @Test
  void aDaemonKilledWithItsInnerSupervisorEndsThoughADetachedBoxLivesOn() throws Exception {
    daemon.client().boxes().create(BoxRequest.defaults().withName("on").withDetached());
    kill(parent(daemon.pid()));
    kill(daemon.pid());
    assertThat(status()).isEqualTo(KILLED);
    daemon.start();
    assertThat(daemon.client().boxes().inspect("on").state()).isEqualTo(BoxState.RUNNING);
    // Its init is no child of that daemon's: we reap it, as the host's pid 1 would.
    Thread reaper = Thread.ofPlatform().name("reaper").start(this::reapUntilInterrupted);
    try {
      assertThat(daemon.client().boxes().remove("on", true).clean()).isTrue();
    } finally {
      reaper.interrupt();
      reaper.join();
    }
  }

  private void reapUntilInterrupted() {
    try {
      while (true) {
        TestHost.reapOrphans();
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      // All is reaped.
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static long parent(long pid) {
    return ProcessHandle.of(pid).flatMap(ProcessHandle::parent).orElseThrow().pid();
  }
}
