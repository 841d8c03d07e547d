package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Deadline;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Tag("kernel")
@LeakChecked
class EmptyWaitKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.CGROUPS);

  private final Children children = new Children();
  private RealCgroups real;
  private Cgroup cgroup;

  @BeforeEach
  void create() throws Exception {
    real = new RealCgroups();
    cgroup = real.create("");
  }

  @AfterEach
  void close() throws Exception {
    real.endAll();
    children.close();
    real.close();
  }

  private boolean await(Duration patience) throws Exception {
    return real.emptyWait().await(cgroup, Deadline.in(patience));
  }

  @Test
  void anEmptyOrAbsentCgroupIsEmptyAtOnce() throws Exception {
    assertThat(await(Duration.ZERO)).isTrue();
    Files.delete(cgroup.path());
    assertThat(await(Duration.ZERO)).isTrue();
  }

  @Test
  void aMemberIsWaitedForUntilTheDeadline() throws Exception {
    RealCgroups.move(children.sleeper(), cgroup.path());
    assertThat(await(Duration.ofMillis(20))).isFalse();
  }

  @Test
  void theDeathOfTheLastMemberBelowIsNoticed() throws Exception {
    Cgroup below = real.create("a/b");
    int pid = children.sleeper();
    RealCgroups.move(pid, below.path());
    var empty = new CompletableFuture<Boolean>();
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    empty.complete(await(Duration.ofSeconds(30)));
                  } catch (Exception e) {
                    empty.completeExceptionally(e);
                  }
                });
    below.kill();
    assertThat(empty.get(10, TimeUnit.SECONDS)).isTrue();
    waiter.join();
    assertThat(children.awaitSignal(pid)).as("a zombie is no member").isEqualTo(9);
  }

  @Test
  void waitingCanBeInterrupted() throws Exception {
    RealCgroups.move(children.sleeper(), cgroup.path());
    var failure = new CompletableFuture<Throwable>();
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    await(Duration.ofSeconds(30));
                  } catch (Exception e) {
                    failure.complete(e);
                  }
                });
    Awaitility.await().until(() -> waiter.getState() != Thread.State.NEW);
    waiter.interrupt();
    assertThat(failure.get(10, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
    waiter.join();
  }

  @Test
  void aFileThatDoesNotSayWhetherItIsPopulatedIsAnError(@TempDir Path directory) throws Exception {
    // Any other file of the kernel's that can be polled, in the place of cgroup.events.
    Files.createSymbolicLink(directory.resolve("cgroup.events"), Path.of("/proc/self/mountinfo"));
    var wait = real.emptyWait();
    assertThatThrownBy(() -> wait.await(new Cgroup(directory), Deadline.in(Duration.ZERO)))
        .hasMessageEndingWith("ENODATA");
  }
}
