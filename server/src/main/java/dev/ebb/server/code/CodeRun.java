package dev.ebb.server.code;

import static java.util.Objects.requireNonNull;

import dev.ebb.box.SandboxException;
import dev.ebb.exec.ExecResult;
import dev.ebb.exec.ExecSpec;
import dev.ebb.exec.OutputLog;
import dev.ebb.pressure.Permit;
import dev.ebb.process.ExitCause;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.NewFile;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedExec;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of code in a box that is there: written, compiled, run, and what it wrote. The box stays.
 */
public final class CodeRun {
  /** How much of stderr is looked at. */
  private static final int LAST_WORDS = 64 * 1024;

  /** Whoever waits for the commands; one that throws has ended them. */
  public interface Attendant extends Room {
    /** For the end of a command of which nothing is told. */
    void await(ServedExec compiler) throws IOException, InterruptedException;

    /** For the end of the program. */
    void follow(ServedExec program) throws IOException, InterruptedException;
  }

  private final Boxes boxes;
  private final ServedBox box;
  private final CodeTask task;
  private final Attendant attendant;
  private final BooleanSupplier hasLeft;
  private @Nullable Permit permit;
  private @Nullable WorkspaceWatch watch;

  /**
   * A run that has yet to begin.
   *
   * @param hasLeft whether the caller has gone meanwhile
   */
  public CodeRun(
      Boxes boxes, ServedBox box, CodeTask task, Attendant attendant, BooleanSupplier hasLeft) {
    this.boxes = boxes;
    this.box = box;
    this.task = task;
    this.attendant = attendant;
    this.hasLeft = hasLeft;
  }

  /** The same for a caller who was admitted with the box; to be closed by him in any case. */
  public CodeRun admitted(Permit room) {
    permit = room;
    return this;
  }

  /**
   * Runs it, once.
   *
   * @throws SandboxException it could not, for no fault of the code
   */
  public CodeResult run() throws IOException, InterruptedException {
    withFiles(this::fill);
    if (task.compile().isPresent()) {
      ServedExec compiler = start(task.compile().get());
      attendant.await(compiler);
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
    ServedExec program = start(task.run());
    // The thread that waits for it holds the memory of its input meanwhile.
    task.input().ifPresent(bytes -> program.feed(bytes, box.claim()));
    attendant.follow(program);
    String word = word(program, result(program).cause());
    return new CodeResult(
        task.language(),
        CodeResult.Phase.RUN,
        word,
        program,
        Optional.of(requireNonNull(watch).writtenBy(program.exec(), task.outputs(), attendant)));
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
  private ServedExec start(ExecSpec spec) throws InterruptedException {
    Permit first = permit;
    if (first == null) {
      return boxes.start(box, spec, hasLeft);
    }
    permit = null;
    try (first) {
      return boxes.startAdmitted(box, spec);
    }
  }

  private void withFiles(ServedBox.Work work) throws IOException, InterruptedException {
    if (permit == null) {
      boxes.useFiles(box, work, hasLeft);
    } else {
      box.use(work);
    }
  }

  private ExecResult result(ServedExec exec) {
    return switch (exec.ending().orElseThrow()) {
      case ServedExec.Ending.Result(var result, _) -> result;
      case ServedExec.Ending.Refused(var reason, _) -> throw boxes.explain(reason, exec);
    };
  }

  private String word(ServedExec exec, ExitCause cause) {
    if (!(cause instanceof ExitCause.Exited(var code))) {
      return cause.status();
    }
    if (code == 0) {
      return "ok";
    }
    return task.language().isInvalid(lastWords(exec)) ? "compile-error" : "failed";
  }

  private static String lastWords(ServedExec exec) {
    OutputLog log = exec.exec().stderr();
    byte[] bytes = new byte[(int) Math.min(LAST_WORDS, log.size())];
    int n = log.read(log.size() - bytes.length, bytes);
    return new String(bytes, 0, Math.max(0, n), StandardCharsets.UTF_8);
  }
}
