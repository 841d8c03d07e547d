package dev.ebb.server.rest;

import dev.ebb.code.Language;
import dev.ebb.code.Languages;
import dev.ebb.code.WorkspaceFiles;
import dev.ebb.exec.ExecSpec;
import dev.ebb.server.access.Caps;
import dev.ebb.server.boxes.BoxOrder;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.PatternSyntaxException;

/**
 * Code as a request orders it to be run.
 *
 * @param files the code among them
 * @param input all of its stdin
 * @param outputs which of the files that it writes go into the answer
 */
record CodeOrder(
    Language language,
    BoxOrder box,
    List<Orders.Content> files,
    Optional<ExecSpec> compile,
    ExecSpec run,
    Optional<byte[]> input,
    List<PathMatcher> outputs,
    boolean certificate) {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int GLOBS_MOST = 32;
  private static final int GLOB_LENGTH_MOST = 256;

  static CodeOrder parse(Fields fields, Languages languages, Caps caps) {
    Language language = languages.require(required(fields, "language"));
    var files = new ArrayList<Orders.Content>();
    files.add(
        new Orders.Content(
            WorkspaceFiles.path(language.file()), Fields.utf8("code", required(fields, "code"))));
    fields.objects("files").stream().map(Orders::content).forEach(files::add);
    Optional<byte[]> input = fields.bytes("stdin");
    ExecSpec run = specOf(fields, language, language.run(fields.texts("args")), caps);
    run = run.withTimeout(fields.limit("timeoutMillis", TIMEOUT, caps.timeout()));
    Duration compileTimeout = fields.limit("compileTimeoutMillis", TIMEOUT, caps.timeout());
    Optional<ExecSpec> compile =
        language.compile().isEmpty()
            ? Optional.empty()
            : Optional.of(
                specOf(fields, language, language.compile(), caps).withTimeout(compileTimeout));
    var globs = fields.texts("outputs").stream().map(CodeOrder::glob).toList();
    if (globs.size() > GLOBS_MOST) {
      throw bad("\"outputs\" are " + GLOBS_MOST + " at most");
    }
    Orders.Ordered ordered = Orders.box(fields.object("box").orElseGet(Fields::none), caps);
    if (ordered.order().detached()) {
      throw bad("\"box.detached\": a box that goes with its code cannot be");
    }
    files.addAll(ordered.files());
    boolean certificate = fields.flag("certificate", true);
    fields.end();
    return new CodeOrder(
        language,
        ordered.order(),
        files,
        compile,
        input.isPresent() ? run.withInput() : run,
        input,
        globs,
        certificate);
  }

  private static ExecSpec specOf(
      Fields fields, Language language, List<String> command, Caps caps) {
    var environment = new LinkedHashMap<String, String>(language.environment());
    environment.putAll(fields.textMap("environment"));
    return Orders.capped(ExecSpec.of(command), caps).withEnvironment(Map.copyOf(environment));
  }

  private static PathMatcher glob(String glob) {
    try {
      if (glob.length() <= GLOB_LENGTH_MOST) {
        return FileSystems.getDefault().getPathMatcher("glob:" + glob);
      }
    } catch (PatternSyntaxException e) {
      // Below.
    }
    throw bad("\"outputs\": \"" + glob + "\" is no glob");
  }

  /** Whether this file of the working directory is asked for. */
  boolean wants(String file) {
    Path path = Path.of(file);
    return outputs.stream().anyMatch(glob -> glob.matches(path));
  }

  private static String required(Fields fields, String name) {
    return fields.text(name).orElseThrow(() -> bad("\"" + name + "\" is missing"));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
