package dev.ebb.server.rest;

import dev.ebb.code.Glob;
import dev.ebb.code.Language;
import dev.ebb.code.Languages;
import dev.ebb.code.WorkspaceFiles;
import dev.ebb.exec.ExecSpec;
import dev.ebb.server.access.Caps;
import dev.ebb.server.boxes.BoxOrder;
import dev.ebb.server.boxes.NewFile;
import dev.ebb.server.code.CodeTask;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Code as a request orders it to be run, and the box for it. */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public record CodeOrder(CodeTask task, BoxOrder box, boolean certificate) {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int GLOBS_MOST = 32;

  public static CodeOrder parse(Fields fields, Languages languages, Caps caps) {
    Language language = languages.require(required(fields, "language"));
    var files = new ArrayList<NewFile>();
    files.add(
        new NewFile(
            WorkspaceFiles.path(language.file()), Fields.utf8("code", required(fields, "code"))));
    fields.objects("files").stream().map(Orders::file).forEach(files::add);
    Optional<byte[]> input = fields.bytes("stdin");
    ExecSpec run = specOf(fields, language, language.run(fields.texts("args")), caps);
    run = run.withTimeout(fields.limit("timeoutMillis", TIMEOUT, caps.timeout()));
    Duration compileTimeout = fields.limit("compileTimeoutMillis", TIMEOUT, caps.timeout());
    Optional<ExecSpec> compile =
        language.compile().isEmpty()
            ? Optional.empty()
            : Optional.of(
                specOf(fields, language, language.compile(), caps).withTimeout(compileTimeout));
    List<Glob> globs = globs(fields.texts("outputs"));
    Orders.Ordered ordered = box(fields, caps);
    files.addAll(ordered.files());
    boolean certificate = fields.flag("certificate", true);
    fields.end();
    run = (input.isPresent() ? run.withInput() : run).withLook();
    return new CodeOrder(
        new CodeTask(language, files, compile, run, input, globs), ordered.order(), certificate);
  }

  /** The box that goes with its code. */
  static Orders.Ordered box(Fields fields, Caps caps) {
    Orders.Ordered ordered = Orders.box(fields.object("box").orElseGet(Fields::none), caps);
    if (ordered.order().detached()) {
      throw bad("\"box.detached\": a box that goes with its code cannot be");
    }
    return ordered;
  }

  private static ExecSpec specOf(
      Fields fields, Language language, List<String> command, Caps caps) {
    var environment = new LinkedHashMap<String, String>(language.environment());
    environment.putAll(fields.textMap("environment"));
    return Orders.capped(ExecSpec.of(command), caps).withEnvironment(Map.copyOf(environment));
  }

  public static List<Glob> globs(List<String> texts) {
    if (texts.size() > GLOBS_MOST) {
      throw bad("\"outputs\" are " + GLOBS_MOST + " at most");
    }
    var globs = new ArrayList<Glob>();
    for (String text : texts) {
      try {
        globs.add(Glob.parse(text));
      } catch (IllegalArgumentException e) {
        throw bad("\"outputs\": \"" + text + "\": " + e.getMessage());
      }
    }
    return globs;
  }

  private static String required(Fields fields, String name) {
    return fields.text(name).orElseThrow(() -> bad("\"" + name + "\" is missing"));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
