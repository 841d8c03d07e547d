package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.box.PastRelease;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The release of a box is known while it goes on, when it is stuck, and when it is done. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class CertificatesKernelTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(30));

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private Engine engine;
  private BoxRegistry boxes;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.openForDaemon(host.home());
    boxes = TestRegistry.open(engine, host);
  }

  @AfterEach
  void close() {
    boxes.close();
    engine.close();
  }

  private TenantBox make() throws Exception {
    return boxes.create(Caller.OWNER, BoxOrder.of(BoxSpec.defaults()), Optional.empty()).box();
  }

  private BoxRelease await(String box) throws InterruptedException {
    return boxes.releases().await(Caller.OWNER, box, SOON);
  }

  @Test
  void aLivingBoxHasNoneYet() throws Exception {
    TenantBox box = make();
    assertThatThrownBy(() -> boxes.releases().find(Caller.OWNER, box.id()))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.WRONG_STATE));
    boxes.remove(box, true);
    assertThat(await(box.id()).state()).isEqualTo(BoxRelease.State.DONE);
  }

  @Test
  void aStoppedBoxHasOneToo() throws Exception {
    TenantBox box = make();
    Certificate proof = boxes.stop(box, Duration.ZERO);
    assertThat(await(box.id()).certificate()).hasValue(proof);
    boxes.remove(box, true);
  }

  @Test
  void anAnsweredBoxIsPendingUntilItIsReleased() throws Exception {
    TenantBox box = make();
    Runnable sent = boxes.removeAnswered(box).orElseThrow();
    assertThat(boxes.releases().find(Caller.OWNER, box.id()).state())
        .isEqualTo(BoxRelease.State.PENDING);
    sent.run();
    BoxRelease release = await(box.id());
    assertThat(release.state()).isEqualTo(BoxRelease.State.DONE);
    assertThat(boxes.listed(Caller.OWNER, box.id())).isEmpty();
    assertThat(boxes.remove(Caller.OWNER, box.id(), true, true).certificate())
        .isEqualTo(release.certificate());
  }

  @Test
  void aClientThatDoesNotReadItsAnswerDoesNotKeepTheBox() throws Exception {
    TenantBox box = make();
    assertThat(boxes.removeAnswered(box)).isPresent();
    assertThat(await(box.id()).state()).isEqualTo(BoxRelease.State.DONE);
  }

  @Test
  void aReleaseThatIsStuckAfterTheAnswerIsTriedAgainUntilItIsDone() throws Exception {
    TestHost.require(Feature.ROOT);
    TenantBox box = make();
    TenantExec exec =
        boxes.start(box, ExecSpec.of("head", "-c", "100000", "/dev/zero"), () -> false);
    box.awaitEnd(exec, SOON);
    Path directory = directoryOf(box);
    run("mount", "-t", "tmpfs", "ebb-test", directory.toString());
    try {
      boxes.removeAnswered(box).orElseThrow().run();
      BoxRelease stuck = await(box.id());
      assertThat(stuck.state()).isEqualTo(BoxRelease.State.STUCK);
      assertThat(stuck.certificate().orElseThrow().toString()).contains("EBUSY", "mount");
      assertThat(box.state()).isEqualTo(BoxState.STUCK);
    } finally {
      run("umount", directory.toString());
    }
    Awaitility.await()
        .atMost(SOON)
        .until(
            () -> boxes.releases().find(Caller.OWNER, box.id()).state() == BoxRelease.State.DONE);
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
  }

  private Path directoryOf(TenantBox box) throws Exception {
    try (var below = Files.walk(host.home())) {
      return below.filter(path -> path.endsWith(box.id())).findFirst().orElseThrow();
    }
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  private void reopen() throws Exception {
    close();
    open();
  }

  @Test
  void theNextDaemonHasAllButNoMoreThanATenantMayHave() throws Exception {
    int more = 3;
    for (int i = 0; i < Certificates.MOST_OF_A_TENANT + more; i++) {
      var release = new PastRelease(id(i), Map.of("tenant", "default"), Optional.empty());
      engine.releases().begin(release);
    }
    reopen();
    for (int i = 0; i < more; i++) {
      String old = id(i).value();
      assertThatThrownBy(() -> boxes.releases().find(Caller.OWNER, old))
          .isInstanceOf(SandboxException.class);
    }
    BoxRelease first = boxes.releases().find(Caller.OWNER, id(more).value());
    assertThat(first.state()).isEqualTo(BoxRelease.State.DONE);
    assertThat(first.isRecovered()).isTrue();
    reopen();
    assertThat(boxes.releases().find(Caller.OWNER, id(more).value())).isEqualTo(first);
  }

  private static BoxId id(int number) {
    return new BoxId("b%012x".formatted(number));
  }
}
