package dev.ebb.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.box.Box;
import dev.ebb.exec.BoxFiles;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Detached boxes, and their files, when their init does not listen at a critical moment. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DetachedAtCloseKernelTest {
  private static final String FILE = "/workspace/file";
  private static final byte[] CONTENT = "content".getBytes(UTF_8);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @AfterEach
  void releaseAll() throws Exception {
    AdoptedBoxes.releaseAll(host);
  }

  private static Box withFile(Engine engine) throws IOException, InterruptedException {
    Box box = engine.create(BoxSpec.defaults());
    new BoxFiles(box).write(FILE, 0644, new ByteArrayInputStream(CONTENT));
    return box;
  }

  /** More than the socket to init holds. */
  private static ExecSpec longCommand() {
    var words = new ArrayList<>(List.of("true"));
    for (int i = 0; i < 30; i++) {
      words.add("x".repeat(60_000));
    }
    return ExecSpec.of(words);
  }

  private static void signal(String name, int pid) throws IOException, InterruptedException {
    Prober.run(List.of("kill", "-s", name, Integer.toString(pid)));
  }

  private record Begun<T>(Thread thread, FutureTask<T> task) {
    static <T> Begun<T> of(Callable<T> work) {
      var task = new FutureTask<>(work);
      return new Begun<>(Thread.ofPlatform().start(task), task);
    }

    void awaitState(Thread.State state) {
      Awaitility.await().until(() -> thread.getState() == state);
    }
  }

  private static boolean detach(Box box) {
    box.detach(Optional.empty(), Map.of());
    return true;
  }

  private static boolean close(Engine engine) {
    engine.close();
    return true;
  }

  private static void assertFileIsThere(Box box) throws IOException, InterruptedException {
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
    try (var content = new BoxFiles(box).read(FILE, 0)) {
      assertThat(content.readAllBytes()).isEqualTo(CONTENT);
    }
  }

  private void assertFileIsThereNext() throws IOException, InterruptedException {
    try (Engine next = Engine.openForDaemon(host.home())) {
      var adopted = next.adopt();
      assertThat(adopted).as("boxes that live on").hasSize(1);
      assertFileIsThere(adopted.getFirst().box());
      assertThat(next.release(adopted.getFirst().box()).isClean()).isTrue();
    }
  }

  /** A box that was detached successfully lives on, although its engine was closing. */
  @Test
  void aBoxDetachedWhileItsEngineClosesLivesOn() throws Exception {
    Engine engine = Engine.openForDaemon(host.home());
    Box box = withFile(engine);
    int init = box.footprint().initPid();
    signal("STOP", init);
    var start = Begun.of(() -> engine.start(box, longCommand()));
    start.awaitState(Thread.State.TIMED_WAITING);
    var detach = Begun.of(() -> detach(box));
    Awaitility.await().until(() -> Files.exists(box.execSite().directory().logs().recordFile()));
    detach.awaitState(Thread.State.WAITING);
    var close = Begun.of(() -> close(engine));
    close.awaitState(Thread.State.WAITING);
    signal("CONT", init);
    assertThat(detach.task.get()).isTrue();
    assertThat(close.task.get()).isTrue();
    start.thread.join();
    assertFileIsThereNext();
  }

  /** In the other order the detach fails. */
  @Test
  void aDetachAfterTheEngineEndedTheBoxIsRefused() throws Exception {
    Engine engine = Engine.openForDaemon(host.home());
    Box box = withFile(engine);
    engine.close();
    assertThatThrownBy(() -> detach(box)).isInstanceOf(SandboxException.class);
    try (Engine next = Engine.openForDaemon(host.home())) {
      assertThat(next.adopt()).isEmpty();
    }
  }

  /** A message that init does not take in time fails, and does not harm the box. */
  @Test
  @Tag("long")
  void aBoxWithALongStoppedInitLosesNothing() throws Exception {
    Engine engine = Engine.openForDaemon(host.home());
    Box box = withFile(engine);
    detach(box);
    int init = box.footprint().initPid();
    signal("STOP", init);
    assertThatThrownBy(() -> engine.start(box, longCommand()))
        .hasMessageContaining("send to init in time");
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
    signal("CONT", init);
    assertFileIsThere(box);
    assertThat(engine.start(box, ExecSpec.of("true")).await().cause().code()).isZero();
    engine.close();
    assertFileIsThereNext();
  }
}
