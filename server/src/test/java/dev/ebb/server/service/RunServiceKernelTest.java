package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.box.OwnBox;
import dev.ebb.code.CodeTask;
import dev.ebb.code.Languages;
import dev.ebb.code.NewFile;
import dev.ebb.code.Runner;
import dev.ebb.code.WorkspaceFiles;
import dev.ebb.engine.Engine;
import dev.ebb.exec.OutputLog;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.CellOrder;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.RunService.Place;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.TenantMemory;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A run in a box of its own removes that box once, and a client that goes away kills once. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class RunServiceKernelTest {
  private static final Duration SOON = TestHost.patience(Duration.ofSeconds(30));

  /** Counts the signals that ask it to end, and ends only by SIGKILL. */
  private static final String STUBBORN =
      "trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done";

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private final List<String> steps = new ArrayList<>();
  private final Client client = new Client();
  private Engine engine;
  private BoxRegistry boxes;
  private RunService runs;

  @BeforeEach
  void open() throws Exception {
    engine = Engine.open(host.home());
    boxes = TestRegistry.open(engine, host);
    runs = new RunService(boxes, new Counted(RunService.removalBy(boxes)));
  }

  @AfterEach
  void close() {
    boxes.close();
    engine.close();
  }

  /** Removes boxes and notes it. */
  private final class Counted implements OwnBox.Removal<TenantBox> {
    private final OwnBox.Removal<TenantBox> real;

    private Counted(OwnBox.Removal<TenantBox> real) {
      this.real = real;
    }

    @Override
    public Certificate remove(TenantBox box) throws InterruptedException {
      steps.add("remove");
      return real.remove(box);
    }
  }

  /** A client that waits for ever, unless a test changes that. */
  private class Client implements RunClient {
    @Nullable Runnable stop;

    @Override
    public boolean hasLeft() {
      return false;
    }

    @Override
    public void beat(Progress progress) throws IOException {}

    @Override
    public TenantMemory.Claim keep(byte[] bytes) {
      return boxes.memory().claim(Caller.OWNER.tenant(), bytes.length);
    }

    @Override
    public boolean hasRoomFor(long bytes) {
      return true;
    }

    @Override
    public void stopBy(@Nullable Runnable stop) {
      this.stop = stop;
    }
  }

  /** Cancels its call at two beats and hangs up at the next; waits for the command to be ready. */
  private final class Leaving extends Client {
    private int cancelled;

    @Override
    public void beat(Progress progress) throws IOException {
      if (cancelled == 2) {
        throw new IOException("the client has gone");
      }
      if (progress.outputBytes() > 0) {
        assertThat(stop).isNotNull();
        stop.run();
        cancelled++;
      }
    }
  }

  private static Place place(boolean waits) {
    return new Place(BoxOrder.of(BoxSpec.defaults()), List.of(), waits);
  }

  private static CommandTask command(String script) {
    ExecSpec spec = ExecSpec.of("bash", "-c", script).withGrace(Duration.ofSeconds(6));
    return new CommandTask(spec, Optional.empty());
  }

  private static CodeTask code(String text) {
    var bash = Languages.ofHost().require("bash");
    var file = new NewFile(WorkspaceFiles.path(bash.file()), text.getBytes(StandardCharsets.UTF_8));
    return new CodeTask(
        bash,
        List.of(file),
        Optional.empty(),
        ExecSpec.of(bash.run(List.of())).withLook(),
        Optional.empty(),
        List.of());
  }

  private static TenantContext.Order interpreter() {
    Runner runner = Runner.of(Languages.ofHost().require("bash"));
    return new TenantContext.Order(
        Optional.empty(),
        runner,
        ExecSpec.of(runner.command()).withTimeout(Duration.ZERO).withDialogue());
  }

  private static CellTask cell(String text) {
    var order = new CellOrder(text, Map.of(), Duration.ofSeconds(30), Duration.ofSeconds(2));
    return new CellTask(order, List.of(), List.of());
  }

  private static String text(OutputLog log) {
    byte[] bytes = new byte[(int) log.size()];
    return new String(bytes, 0, Math.max(0, log.read(0, bytes)), StandardCharsets.UTF_8);
  }

  /** Sends an answer, and notes it. */
  private RunService.Sending sent(String what) {
    return release -> {
      release.certificate().ifPresent(proof -> assertThat(proof.isClean()).isTrue());
      boolean isPending = release.state() == BoxRelease.State.PENDING;
      steps.add((isPending ? "answer first " : "answer ") + what.strip());
    };
  }

  private RunService.Sending lost() {
    return _ -> {
      steps.add("no answer");
      throw new IOException("the client has gone");
    };
  }

  private void awaitNoBox() {
    await().atMost(SOON).until(() -> boxes.list(Caller.OWNER).isEmpty());
  }

  // --- the box of a run ---

  @Test
  void aRunRemovesItsBoxOnceAndThenAnswers() throws Exception {
    runs.runAlone(
        Caller.OWNER,
        place(true),
        command("echo hi"),
        client,
        exec -> sent(text(exec.exec().stdout())));
    runs.codeAlone(
        Caller.OWNER,
        place(true),
        code("echo code"),
        client,
        result -> sent(text(result.exec().exec().stdout())));
    runs.cellAlone(
        Caller.OWNER,
        place(true),
        interpreter(),
        cell("echo cell"),
        client,
        run -> sent(text(run.cell().segment().orElseThrow().stdout())));
    assertThat(steps)
        .containsExactly("remove", "answer hi", "remove", "answer code", "remove", "answer cell");
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
  }

  @Test
  void aRunThatDoesNotWaitAnswersAndThenHasItsBoxRemoved() throws Exception {
    runs.runAlone(Caller.OWNER, place(false), command(":"), client, _ -> sent("run"));
    runs.codeAlone(Caller.OWNER, place(false), code(":"), client, _ -> sent("code"));
    runs.cellAlone(Caller.OWNER, place(false), interpreter(), cell(":"), client, _ -> sent("cell"));
    assertThat(steps).containsExactly("answer first run", "answer first code", "answer first cell");
    awaitNoBox();
  }

  @Test
  void aProcessThatLivesOnMakesTheAnswerWait() throws Exception {
    ExecSpec spec = ExecSpec.of("bash", "-c", "sleep 1000 &").withKeep();
    var keeping = new CommandTask(spec, Optional.empty());
    runs.runAlone(Caller.OWNER, place(false), keeping, client, _ -> sent("run"));
    assertThat(steps).containsExactly("remove", "answer run");
  }

  @Test
  void theInterpreterOfACellIsDeadBeforeTheAnswer() throws Exception {
    runs.cellAlone(
        Caller.OWNER,
        place(false),
        interpreter(),
        cell("sleep 1000 &"),
        client,
        run -> _ -> assertThat(run.context().exec().ending()).as("how it ended").isPresent());
    awaitNoBox();
  }

  @Test
  void anAnswerThatCannotBeSentRemovesNoBoxTwice() {
    assertThatThrownBy(
            () -> runs.runAlone(Caller.OWNER, place(true), command(":"), client, _ -> lost()))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(
            () -> runs.codeAlone(Caller.OWNER, place(true), code(":"), client, _ -> lost()))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(
            () ->
                runs.cellAlone(
                    Caller.OWNER, place(true), interpreter(), cell(":"), client, _ -> lost()))
        .isInstanceOf(IOException.class);
    assertThat(steps)
        .containsExactly("remove", "no answer", "remove", "no answer", "remove", "no answer");
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
  }

  @Test
  void aRunThatFailsRemovesItsBoxOnce() {
    assertThatThrownBy(
            () -> runs.runAlone(Caller.OWNER, place(false), command(":"), client, _ -> lost()))
        .isInstanceOf(IOException.class);
    var refused = new SandboxException(ErrorCode.INTERNAL, "cannot read it");
    assertThatThrownBy(
            () ->
                runs.runAlone(
                    Caller.OWNER,
                    place(true),
                    command(":"),
                    client,
                    _ -> {
                      throw refused;
                    }))
        .isSameAs(refused);
    assertThat(steps).containsExactly("no answer", "remove");
    awaitNoBox();
  }

  @Test
  void aDetachedRunWithoutAnAnswerIsRemovedOnce() throws Exception {
    var place = new Place(BoxOrder.of(BoxSpec.defaults()).forOneCommand(), List.of(), false);
    assertThatThrownBy(
            () -> runs.startAlone(Caller.OWNER, place, command(STUBBORN), client, _ -> lost()))
        .isInstanceOf(IOException.class);
    assertThat(steps).containsExactly("no answer", "remove");
    assertThat(boxes.list(Caller.OWNER)).isEmpty();
    runs.startAlone(Caller.OWNER, place, command(":"), client, _ -> sent("started"));
    awaitNoBox();
    assertThat(steps).containsExactly("no answer", "remove", "answer first started");
  }

  // --- a client that goes away ---

  private TenantExec leave(RunClient leaving) throws Exception {
    TenantBox box =
        boxes.create(Caller.OWNER, BoxOrder.of(BoxSpec.defaults()), Optional.empty()).box();
    assertThatThrownBy(() -> runs.run(box, command(STUBBORN), leaving))
        .isInstanceOf(IOException.class);
    return box.execs().getFirst();
  }

  @Test
  void aCallThatIsCancelledAndAbandonedKillsItsCommandOnce() throws Exception {
    TenantExec exec = leave(new Leaving());
    assertThat(exec.ending()).isPresent();
    assertThat(text(exec.exec().stdout())).isEqualTo("ready\nterm\n");
  }

  @Test
  void aCommandThatIsLeftGoesOn() throws Exception {
    TenantExec exec =
        leave(
            new Client() {
              @Override
              public void beat(Progress progress) throws IOException {
                throw new IOException("the client has gone");
              }

              @Override
              public boolean endsWithClient() {
                return false;
              }
            });
    assertThat(exec.isRunning()).isTrue();
    assertThat(exec.killedAt()).isEmpty();
  }
}
