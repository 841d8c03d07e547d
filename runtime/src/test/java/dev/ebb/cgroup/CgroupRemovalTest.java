package dev.ebb.cgroup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.FakeCgroupFs;
import dev.ebb.testkit.LogCapture;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The order of things; what the kernel makes of it is in {@link CgroupRemovalKernelTest}. */
class CgroupRemovalTest {
  private final LogCapture log = new LogCapture(CgroupRemoval.class);
  private final List<String> asked = new ArrayList<>();
  private FakeCgroupFs fake;
  private Cgroup cgroup;
  @TempDir Path root;

  @BeforeEach
  void create() throws IOException {
    fake = FakeCgroupFs.v2(root);
    cgroup = new Cgroup(fake.create("ebb-1"));
  }

  @AfterEach
  void close() {
    log.close();
  }

  /** Members that die as soon as they are waited for. */
  private final EmptyWait dying =
      (waited, deadline) -> {
        try {
          asked.add("kill=" + fake.read(waited.path(), "cgroup.kill"));
          for (Cgroup each : waited.bottomUp()) {
            fake.vacate(each.path());
          }
          return true;
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      };

  @Test
  void anEmptyCgroupIsRemovedInSilence() throws Exception {
    fake.vacate(cgroup.path());
    var removal = new CgroupRemoval(dying);
    assertThat(removal.remove(cgroup)).isTrue();
    assertThat(cgroup.exists()).isFalse();
    assertThat(removal.leaks()).isZero();
    assertThat(log.lines()).isEmpty();
    assertThat(asked).isEmpty();
  }

  @Test
  void anAbsentCgroupIsSuccessInSilence() throws Exception {
    var removal = new CgroupRemoval(dying);
    assertThat(removal.remove(new Cgroup(root.resolve("absent/below")))).isFalse();
    assertThat(removal.leaks()).isZero();
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void aBusyCgroupIsLoggedCountedKilledAwaitedAndRemoved() throws Exception {
    fake.create("ebb-1/nested");
    var removal = new CgroupRemoval(dying);
    assertThat(removal.remove(cgroup)).isTrue();
    assertThat(cgroup.exists()).isFalse();
    assertThat(asked).containsExactly("kill=1");
    assertThat(removal.leaks()).isEqualTo(1);
    assertThat(log.lines())
        .containsExactly("WARNING event=cgroup_busy errno=EBUSY path=" + cgroup.path());
  }

  @Test
  void aRemovalThatFailsForAnotherReasonIsAnErrorAndNoLeak() throws Exception {
    var file = new Cgroup(Files.createFile(root.resolve("file")));
    var removal = new CgroupRemoval(dying);
    assertThatThrownBy(() -> removal.remove(file)).hasMessageEndingWith("ENOTDIR");
    assertThat(removal.leaks()).isZero();
    assertThat(log.lines()).isEmpty();
  }

  @Test
  void unreadableMembersAreAnErrorAndNotAnEmptyCgroup() throws Exception {
    fake.withdraw("cgroup.kill");
    Files.delete(cgroup.path().resolve("cgroup.procs"));
    Files.createDirectory(cgroup.path().resolve("cgroup.procs"));
    assertThatThrownBy(() -> new CgroupRemoval(dying).remove(cgroup))
        .hasMessageEndingWith("EISDIR");
    assertThat(asked).isEmpty();
  }

  @Test
  void aFailedWaitIsAnErrorAndNotAnEmptyCgroup() {
    EmptyWait broken =
        (waited, deadline) -> {
          throw new KernelException("read cgroup.events", Errno.EIO);
        };
    assertThatThrownBy(() -> new CgroupRemoval(broken).remove(cgroup))
        .hasMessage("cannot read cgroup.events: EIO");
  }

  @Test
  void aCgroupThatStaysBusyIsGivenUpAfterTwoSeconds() {
    EmptyWait stuck = (waited, deadline) -> false;
    long start = System.nanoTime();
    assertThatThrownBy(() -> new CgroupRemoval(stuck).remove(cgroup))
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EBUSY))
        .hasMessage("cannot remove " + cgroup.path() + ": EBUSY");
    assertThat(Duration.ofNanos(System.nanoTime() - start))
        .isGreaterThanOrEqualTo(Duration.ofMillis(1900));
    assertThat(log.lines()).hasSize(1);
  }

  @Test
  void anInterruptEndsTheWaitAndIsKept() {
    EmptyWait interrupted =
        (waited, deadline) -> {
          throw new InterruptedException();
        };
    assertThatThrownBy(() -> new CgroupRemoval(interrupted).remove(cgroup))
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINTR));
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void anInterruptEndsTheRetriesToo() {
    EmptyWait stuck =
        (waited, deadline) -> {
          asked.add("wait");
          return false;
        };
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> new CgroupRemoval(stuck).remove(cgroup)).hasMessageEndingWith("EINTR");
    assertThat(Thread.interrupted()).isTrue();
    assertThat(asked).as("before it was heard").hasSize(1);
  }
}
