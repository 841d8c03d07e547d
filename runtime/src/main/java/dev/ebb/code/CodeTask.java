package dev.ebb.code;

import dev.ebb.model.ExecSpec;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.model.PlannedStart;
import java.util.List;
import java.util.Optional;

/**
 * Code to run.
 *
 * @param files the code among them; written before anything runs
 * @param compile empty: there is nothing to compile
 * @param input everything that the program is to read
 * @param outputs globs for the written files to return with their content
 */
@SuppressWarnings("OptionalOfArray") // never compared, never changed
public record CodeTask(
    Language language,
    List<NewFile> files,
    Optional<ExecSpec> compile,
    ExecSpec run,
    Optional<byte[]> input,
    List<Glob> outputs) {
  public CodeTask {
    files = List.copyOf(files);
    outputs = List.copyOf(outputs);
  }

  /**
   * Returns the first command of a box made for this task. The pool may have started it, if nothing
   * comes before it.
   */
  public PlannedStart plannedStart() {
    return new PlannedStart(
        compile.isEmpty() ? Optional.of(run) : Optional.empty(),
        files.stream().findFirst().flatMap(NewFile::asFirst));
  }
}
