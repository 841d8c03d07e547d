package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.FakeClock;
import dev.ebb.testkit.LeakChecked;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@LeakChecked
class ReaperTest {
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final FakeClock clock = new FakeClock();
  private final Reaper reaper = new Reaper(clock, PATIENCE);
  private final Children children = new Children();

  @AfterEach
  void close() throws KernelException {
    children.close();
  }

  private int zombie() throws KernelException {
    return children.kill(children.sleeper());
  }

  @Test
  void aZombieOfOursIsReapedAtOnce() throws Exception {
    int pid = zombie();
    assertThat(reaper.reap(zombie -> zombie == pid)).isEqualTo(1);
    assertThat(ProcFs.stat(pid)).isEmpty();
    assertThat(reaper.reap(any -> true)).isZero();
  }

  @Test
  void theLivingAreLeftAlone() throws Exception {
    int pid = children.sleeper();
    clock.advance(PATIENCE.multipliedBy(2));
    assertThat(reaper.reap(any -> true)).isZero();
    assertThat(ProcFs.stat(pid)).isPresent();
  }

  @Test
  void anOrphanIsReapedWhenUnclaimedForAWhile() throws Exception {
    int pid = zombie();
    assertThat(reaper.reap(any -> false)).isZero();
    clock.advance(PATIENCE.minusMillis(1));
    assertThat(reaper.reap(any -> false)).isZero();
    assertThat(ProcFs.stat(pid)).isPresent();
    clock.advance(Duration.ofMillis(1));
    assertThat(reaper.reap(any -> false)).isEqualTo(1);
    assertThat(ProcFs.stat(pid)).isEmpty();
  }

  @Test
  void thePatienceBeginsWhenItIsFirstSeenDead() throws Exception {
    int pid = children.sleeper();
    assertThat(reaper.reap(any -> false)).isZero();
    clock.advance(PATIENCE.multipliedBy(3));
    children.kill(pid);
    assertThat(reaper.reap(any -> false)).isZero();
    clock.advance(PATIENCE);
    assertThat(reaper.reap(any -> false)).isEqualTo(1);
  }

  @Test
  void eachStrangerHasItsOwnPatience() throws Exception {
    int first = zombie();
    assertThat(reaper.reap(any -> false)).isZero();
    clock.advance(PATIENCE.dividedBy(2));
    int second = zombie();
    assertThat(reaper.reap(any -> false)).isZero();
    clock.advance(PATIENCE.dividedBy(2));
    assertThat(reaper.reap(any -> false)).isEqualTo(1);
    assertThat(ProcFs.stat(first)).isEmpty();
    assertThat(ProcFs.stat(second)).isPresent();
  }

  @Test
  void anOrphanThatTheApplicationReapedIsForgotten() throws Exception {
    int pid = zombie();
    assertThat(reaper.reap(any -> false)).isZero();
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    clock.advance(PATIENCE);
    assertThat(reaper.reap(any -> false)).isZero();
  }

  @Test
  void everyZombieIsReapedOnceByManyAtOnce() throws Exception {
    int count = 40;
    for (int i = 0; i < count; i++) {
      zombie();
    }
    int reaped = 0;
    var running = new ArrayList<Future<Integer>>();
    try (var executor = Executors.newFixedThreadPool(4)) {
      for (int i = 0; i < 4; i++) {
        running.add(executor.submit(() -> reaper.reap(any -> true)));
      }
    }
    for (Future<Integer> each : running) {
      reaped += each.get();
    }
    assertThat(reaped).isEqualTo(count);
  }

  /** The embedding application's own children, waited for by {@code java.lang.Process}. */
  @Test
  void exitsOfTheApplicationAreNotStolen() throws Exception {
    var patient = new Reaper(InstantSource.system(), Duration.ofMinutes(1));
    var done = new AtomicBoolean();
    try (var executor = Executors.newSingleThreadExecutor()) {
      var reaping =
          executor.submit(
              () -> {
                int stolen = 0;
                while (!done.get()) {
                  stolen += patient.reap(any -> false);
                }
                return stolen;
              });
      try {
        for (int code = 0; code < 60; code++) {
          var process = new ProcessBuilder("sh", "-c", "exit " + code).start();
          assertThat(process.waitFor()).isEqualTo(code);
        }
      } finally {
        done.set(true);
      }
      assertThat(reaping.get()).isZero();
    }
  }
}
