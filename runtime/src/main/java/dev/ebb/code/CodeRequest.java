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
 * Code to compile and run.
 *
 * @param code the program, in UTF-8
 * @param files placed beside it
 * @param args of the program
 * @param environment of compiler and program, added to that of the language
 * @param stdin everything that the program is to read
 * @param outputs globs for the written files to return with their content
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
  /** Time limits of compiler and program; zero: none. */
  public record Times(Duration compile, Duration run) {}

  /** Makes a request for code alone. */
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
   * Makes the task for this request.
   *
   * @param caps fills in and reduces the limits of a command
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
