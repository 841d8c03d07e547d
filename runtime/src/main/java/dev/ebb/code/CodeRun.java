package dev.ebb.code;

import static java.util.Objects.requireNonNull;

import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.exec.OutputLog;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.FileEntry;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One run of code in an existing box: writes the files, compiles, runs, and reads what was written.
 * The box stays.
 *
 * @param <E> the type that the caller uses for a command
 */
public final class CodeRun<E> {
  /** How many bytes at the end of stderr are searched. */
  private static final int LAST_WORDS = 64 * 1024;

  /** Work during which the box counts as used. */
  public interface Work {
    void run() throws IOException, InterruptedException;
  }

  /**
   * The box of a run, and the caller that waits for the run.
   *
   * @param <E> the type that the caller uses for a command
   */
  public interface Place<E> extends Room {
    BoxFiles files();

    /** Returns whether the box was made for this run: nothing else runs in it before. */
    boolean isNew();

    /** Returns the entry of the first file, if a new box holds it already. */
    Optional<FileEntry> placed();

    boolean hasMounts();

    void use(Work work) throws IOException, InterruptedException;

    E start(ExecSpec spec) throws InterruptedException;

    Exec exec(E started);

    /** Writes all input to stdin, and closes it. */
    void feed(E started, byte[] input);

    /** Waits for the end of the compiler. */
    ExecResult await(E compiler) throws IOException, InterruptedException;

    /** Waits for the end of the program, with output that the caller may follow. */
    ExecResult follow(E program) throws IOException, InterruptedException;
  }

  private final Place<E> place;
  private final CodeTask task;
  private @Nullable WorkspaceWatch watch;

  /** Makes a run that has yet to begin. */
  public CodeRun(Place<E> place, CodeTask task) {
    this.place = place;
    this.task = task;
  }

  /**
   * Runs the code; to be called once.
   *
   * @throws SandboxException it could not run, for no fault of the code
   */
  public CodeResult<E> run() throws IOException, InterruptedException {
    place.use(this::fill);
    if (task.compile().isPresent()) {
      E compiler = place.start(task.compile().get());
      ExitCause cause = place.await(compiler).cause();
      if (!cause.equals(new ExitCause.Exited(0))) {
        String word = cause instanceof ExitCause.Exited ? "compile-error" : cause.status();
        return new CodeResult<>(
            task.language(), CodeResult.Phase.COMPILE, word, compiler, Optional.empty());
      }
    }
    if (watch == null) {
      place.use(() -> watch = WorkspaceWatch.of(place.files()));
    }
    E program = place.start(task.run());
    task.input().ifPresent(bytes -> place.feed(program, bytes));
    String word = word(program, place.follow(program).cause());
    Written written = requireNonNull(watch).writtenBy(place.exec(program), task.outputs(), place);
    return new CodeResult<>(
        task.language(), CodeResult.Phase.RUN, word, program, Optional.of(written));
  }

  /**
   * Writes the files. In a new box all entries are known afterwards, unless a compiler is still to
   * run.
   */
  private void fill() throws IOException, InterruptedException {
    if (!place.isNew()) {
      NewFile.write(place.files(), task.files());
      return;
    }
    var written = NewFile.writeFirst(place.files(), place.placed(), task.files());
    if (task.compile().isEmpty()) {
      watch = WorkspaceWatch.ofNew(place.files(), place.hasMounts(), written);
    }
  }

  private String word(E program, ExitCause cause) {
    if (!(cause instanceof ExitCause.Exited(var code))) {
      return cause.status();
    }
    if (code == 0) {
      return "ok";
    }
    return task.language().isInvalid(lastWords(program)) ? "compile-error" : "failed";
  }

  private String lastWords(E program) {
    OutputLog log = place.exec(program).stderr();
    byte[] bytes = new byte[(int) Math.min(LAST_WORDS, log.size())];
    int n = log.read(log.size() - bytes.length, bytes);
    return new String(bytes, 0, Math.max(0, n), StandardCharsets.UTF_8);
  }
}
