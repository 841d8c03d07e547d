package dev.ebb.code;

import dev.ebb.model.ExecSpec;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Code that a caller wants to be compiled and run.
 *
 * @param code the program, in UTF-8
 * @param files that are there beside it
 * @param args of the program
 * @param environment of compiler and program, beside that of the language
 * @param stdin all that the program is to read
 * @param outputs which of the files that it writes are wanted with their content
 */
@SuppressWarnings({"ArrayRecordComponent", "OptionalOfArray"}) // never compared, never changed
public record CodeRequest(
    Language language,
    byte[] code,
    List<NewFile> files,
    List<String> args,
    Map<String, String> environment,
    Optional<byte[]> stdin,
    Times times,
    List<Glob> outputs) {
  /** How long each of the two may take; zero: any time. */
  public record Times(Duration compile, Duration run) {}

  /** Code alone. */
  public static CodeRequest of(Language language, String code) {
    return new CodeRequest(
        language,
        code.getBytes(StandardCharsets.UTF_8),
        List.of(),
        List.of(),
        Map.of(),
        Optional.empty(),
        new Times(Duration.ZERO, ExecSpec.DEFAULT_TIMEOUT),
        List.of());
  }

  public CodeRequest {
    files = List.copyOf(files);
    args = List.copyOf(args);
    environment = Map.copyOf(environment);
    outputs = List.copyOf(outputs);
  }

  /**
   * What is to be done for it.
   *
   * @param caps puts the limits of a command in place of the defaults
   */
  public CodeTask task(UnaryOperator<ExecSpec> caps) {
    var all = new ArrayList<NewFile>();
    all.add(new NewFile(WorkspaceFiles.path(language.file()), code));
    all.addAll(files);
    Optional<ExecSpec> compile =
        language.compile().isEmpty()
            ? Optional.empty()
            : Optional.of(spec(language.compile(), caps).withTimeout(times.compile()));
    ExecSpec run = spec(language.run(args), caps).withTimeout(times.run());
    run = (stdin.isPresent() ? run.withInput() : run).withLook();
    return new CodeTask(language, all, compile, run, stdin, outputs);
  }

  private ExecSpec spec(List<String> command, UnaryOperator<ExecSpec> caps) {
    var merged = new LinkedHashMap<String, String>(language.environment());
    merged.putAll(environment);
    return caps.apply(ExecSpec.of(command)).withEnvironment(Map.copyOf(merged));
  }
}
