package dev.ebb.code;

import dev.ebb.model.ExecSpec;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.model.PlannedStart;
import java.util.List;
import java.util.Optional;

/**
 * Code that is to be run.
 *
 * @param files the code among them; all are there before anything runs
 * @param compile empty: there is nothing to compile
 * @param input all that the program is to read
 * @param outputs which of the files that it writes are wanted with their content
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

  /** Of a box of its own. The program may have been started ahead, if nothing comes before it. */
  public PlannedStart plannedStart() {
    return new PlannedStart(
        compile.isEmpty() ? Optional.of(run) : Optional.empty(),
        files.stream().findFirst().flatMap(NewFile::asFirst));
  }
}
