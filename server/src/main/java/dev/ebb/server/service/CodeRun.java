package dev.ebb.server.service;

import static java.util.Objects.requireNonNull;

import dev.ebb.exec.OutputLog;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.pressure.Permit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of code in a box that is there: written, compiled, run, and what it wrote. The box stays.
 */
final class CodeRun {
  /** How much of stderr is looked at. */
  private static final int LAST_WORDS = 64 * 1024;

  private final BoxRegistry boxes;
  private final TenantBox box;
  private final CodeTask task;
  private final ClientWait wait;
  private final BooleanSupplier hasLeft;
  private @Nullable Permit permit;
  private @Nullable WorkspaceWatch watch;

  /**
   * A run that has yet to begin.
   *
   * @param hasLeft whether the caller has gone meanwhile
   */
  CodeRun(
      BoxRegistry boxes, TenantBox box, CodeTask task, ClientWait wait, BooleanSupplier hasLeft) {
    this.boxes = boxes;
    this.box = box;
    this.task = task;
    this.wait = wait;
    this.hasLeft = hasLeft;
  }

  /** For a client that was admitted with the box; the caller closes the permit in any case. */
  CodeRun admitted(Permit room) {
    permit = room;
    return this;
  }

  /**
   * Runs it, once.
   *
   * @throws SandboxException it could not, for no fault of the code
   */
  CodeResult run() throws IOException, InterruptedException {
    withFiles(this::fill);
    if (task.compile().isPresent()) {
      TenantExec compiler = start(task.compile().get());
      wait.await(compiler);
      ExitCause cause = result(compiler).cause();
      if (!cause.equals(new ExitCause.Exited(0))) {
        String word = cause instanceof ExitCause.Exited ? "compile-error" : cause.status();
        return new CodeResult(
            task.language(), CodeResult.Phase.COMPILE, word, compiler, Optional.empty());
      }
    }
    if (watch == null) {
      withFiles(() -> watch = WorkspaceWatch.of(box));
    }
    TenantExec program = start(task.run());
    // The thread that waits for it holds the memory of its input meanwhile.
    task.input().ifPresent(bytes -> program.feed(bytes, box.claim()));
    wait.follow(program);
    String word = word(program, result(program).cause());
    return new CodeResult(
        task.language(),
        CodeResult.Phase.RUN,
        word,
        program,
        Optional.of(requireNonNull(watch).writtenBy(program.exec(), task.outputs(), wait)));
  }

  /** Of a box that was made for this, and in which nothing else runs before, all is known then. */
  private void fill() throws IOException, InterruptedException {
    if (permit == null) {
      NewFile.write(box, task.files());
      return;
    }
    var written = NewFile.writeFirst(box, task.files());
    if (task.compile().isEmpty()) {
      watch = WorkspaceWatch.ofNew(box, written);
    }
  }

  /** ORDER: what was admitted with the box is over with its first command. */
  private TenantExec start(ExecSpec spec) throws InterruptedException {
    Permit first = permit;
    if (first == null) {
      return boxes.start(box, spec, hasLeft);
    }
    permit = null;
    try (first) {
      return boxes.startAdmitted(box, spec);
    }
  }

  private void withFiles(TenantBox.Work work) throws IOException, InterruptedException {
    if (permit == null) {
      boxes.useFiles(box, work, hasLeft);
    } else {
      box.use(work);
    }
  }

  private ExecResult result(TenantExec exec) {
    return switch (exec.ending().orElseThrow()) {
      case TenantExec.Ending.Result(var result, _) -> result;
      case TenantExec.Ending.Refused(var reason, _) -> throw boxes.explain(reason, exec);
    };
  }

  private String word(TenantExec exec, ExitCause cause) {
    if (!(cause instanceof ExitCause.Exited(var code))) {
      return cause.status();
    }
    if (code == 0) {
      return "ok";
    }
    return task.language().isInvalid(lastWords(exec)) ? "compile-error" : "failed";
  }

  private static String lastWords(TenantExec exec) {
    OutputLog log = exec.exec().stderr();
    byte[] bytes = new byte[(int) Math.min(LAST_WORDS, log.size())];
    int n = log.read(log.size() - bytes.length, bytes);
    return new String(bytes, 0, Math.max(0, n), StandardCharsets.UTF_8);
  }
}
