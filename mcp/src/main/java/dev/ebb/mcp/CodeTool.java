package dev.ebb.mcp;

import dev.ebb.code.CodeRequest;
import dev.ebb.code.CodeResult;
import dev.ebb.code.CodeTask;
import dev.ebb.code.Languages;
import dev.ebb.code.Runner;
import dev.ebb.code.Written;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.CellTask;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Code in some language, and the pictures that it draws. */
final class CodeTool {
  private static final long LONG = Long.MAX_VALUE >> 10;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final int PICTURES_MOST = 4;
  private static final int FILES_MOST = 100;
  private static final List<String> PICTURES = List.of("**.{png,jpg,jpeg,gif,webp}");

  /**
   * The result of code, beside the answer about its command or cell.
   *
   * @param isCut whether there are more files than these
   */
  private record Ran(
      Map<String, Object> answered,
      String language,
      String phase,
      String outcome,
      List<Written.File> files,
      boolean isCut,
      Optional<String> lost) {}

  private static ObjectSchema<Ran> code(ObjectSchema<?> answered) {
    return ObjectSchema.<Ran>inline()
        .includes(answered.written(), Ran::answered)
        .has("language", Values.TEXT.described("what it was run as"), Ran::language)
        .has("phase", Values.words("compile", "run").described("how far it came"), Ran::phase)
        .has("outcome", Values.TEXT.described(OUTCOMES), Ran::outcome)
        .has(
            "files",
            Values.list(CodeAnswers.FILE.only("path", "sizeBytes", "type"))
                .described("those it made or changed, below /workspace"),
            Ran::files)
        .has("filesCut", Values.FLAG.described("whether there are more"), Ran::isCut)
        .may("filesLost", Values.TEXT.described("why they are not known"), Ran::lost);
  }

  private static final String OUTCOMES =
      "ok, failed (its own exit code), compile-error, or how else it ended: timed-out,"
          + " out-of-memory, output-limit, output-lost, killed; in a context ok, error (it"
          + " threw), failed, interrupted, timed-out, died (with the interpreter), broken,"
          + " output-lost, cancelled";

  private static final ObjectSchema<Ran> NEW_PROCESS = code(ExecReply.schema());
  private static final ObjectSchema<Ran> IN_CONTEXT = code(ContextCode.schema());

  private final Workplace workplace;
  private final ContextCode contexts;
  private final Languages languages = Languages.ofHost();

  CodeTool(Workplace workplace) {
    this.workplace = workplace;
    contexts = new ContextCode(workplace);
  }

  Tool tool() {
    return new Tool(
        "execute_code",
        "Run code",
        """
        Runs a program given as source text in a box: writes it to /workspace, compiles it if the \
        language needs that, runs it, and returns what it wrote to stdout and stderr, how it ended, \
        and which files it made or changed. PNG, JPEG, GIF and WebP files it writes come back as \
        images. Each call is a new process: files stay, variables do not, unless you name a context: \
        then the code runs in an interpreter (python, javascript, bash) that keeps its state, its \
        last expression's value comes back, and figures as images. A program that fails is no error \
        of this tool: look at outcome. Cancelling kills the process tree, or interrupts the cell.\
        """,
        Schema.object()
            .needs("language", Schema.oneOf("what the code is written in", names()))
            .needs("code", Schema.text("the whole program"))
            .has(
                "context",
                Schema.text(
                    "a name of your choice for an interpreter that keeps variables and imports from"
                        + " call to call, made with its first use; without it, a new process"))
            .has("args", Schema.texts("its command-line arguments; not in a context"))
            .has("stdin", Schema.text("what it reads, default nothing; not in a context"))
            .has("environment", Schema.textMap("more environment variables"))
            .has(
                "timeoutMillis",
                Schema.whole(
                    "killed after this time, with its output so far; default 60000", 0, LONG))
            .has("box", Workplace.BOX)
            .build(),
        Schema.either(NEW_PROCESS, IN_CONTEXT),
        Tool.Hint.CHANGES,
        this::run);
  }

  private List<String> names() {
    return languages.all().stream().filter(languages::isInstalled).map(Language::name).toList();
  }

  private Reply run(Call call, Fields arguments) throws IOException, InterruptedException {
    Optional<String> word = arguments.text("box");
    Optional<String> context = arguments.text("context");
    if (context.isPresent()) {
      return runIn(call, word, context.get(), arguments);
    }
    CodeTask task = task(arguments);
    TenantBox box = workplace.box(call, word);
    call.requireWanted();
    return reply(workplace.runs().code(box, task, call));
  }

  private Reply runIn(Call call, Optional<String> word, String context, Fields arguments)
      throws IOException, InterruptedException {
    Runner runner = Runner.of(languages.require(Workplace.required(arguments, "language")));
    var cell =
        new CellOrder(
            Workplace.required(arguments, "code"),
            arguments.textMap("environment"),
            arguments.limit("timeoutMillis", TIMEOUT, workplace.caps().timeout()),
            workplace.caps().grace(ExecSpec.DEFAULT_GRACE));
    if (!arguments.texts("args").isEmpty() || arguments.text("stdin").isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST,
          "\"args\" and \"stdin\" are for a new process; code in a context has neither");
    }
    arguments.end();
    var task = new CellTask(cell, List.of(), pictures());
    TenantBox box = workplace.box(call, word);
    ContextCode.Answered answered = contexts.run(call, box, context, runner, task);
    return reply(
        IN_CONTEXT,
        answered.reply(),
        new Came(runner.wireName(), "run", answered.outcome(), Optional.of(answered.written())));
  }

  private CodeTask task(Fields arguments) {
    Language language = languages.require(Workplace.required(arguments, "language"));
    byte[] code = Fields.utf8("code", Workplace.required(arguments, "code"));
    List<String> args = arguments.texts("args");
    Map<String, String> environment = arguments.textMap("environment");
    Optional<byte[]> stdin = arguments.text("stdin").map(text -> Fields.utf8("stdin", text));
    Duration cap = workplace.caps().timeout();
    arguments.number("timeoutMillis", 0, LONG);
    Duration run = arguments.limit("timeoutMillis", TIMEOUT, cap);
    arguments.end();
    var times =
        new CodeRequest.Times(Fields.none().limit("compileTimeoutMillis", TIMEOUT, cap), run);
    return new CodeRequest(language, code, List.of(), args, environment, stdin, times, pictures())
        .task(workplace.caps()::cap);
  }

  private static List<Glob> pictures() {
    return OrderFields.outputs(PICTURES);
  }

  // --- the reply ---

  /** How far the code came, and its files, if known. */
  private record Came(String language, String phase, String outcome, Optional<Written> written) {}

  private static Reply reply(CodeResult<TenantExec> result) {
    return reply(
        NEW_PROCESS,
        ExecReply.of(result.exec(), 0, 0, ExecReply.OUTPUT),
        new Came(
            result.language().name(),
            result.phase().wireName(),
            result.outcome(),
            result.written()));
  }

  private static Reply reply(ObjectSchema<Ran> schema, Reply answered, Came came) {
    Optional<Written> written = came.written();
    List<Written.File> all = written.map(Written::files).orElse(List.of());
    List<Written.File> some = all.subList(0, Math.min(all.size(), FILES_MOST));
    boolean isCut = some.size() < all.size() || written.filter(Written::isCut).isPresent();
    var ran =
        new Ran(
            answered.structured(),
            came.language(),
            came.phase(),
            came.outcome(),
            some,
            isCut,
            written.flatMap(Written::lost));
    String lost =
        written.flatMap(Written::lost).map(reason -> "\nfiles: not known: " + reason).orElse("");
    String files =
        some.isEmpty()
            ? lost
            : some.stream()
                .map(file -> "%s (%d bytes)".formatted(file.path(), file.size()))
                .collect(Collectors.joining(", ", "\nfiles: ", ""));
    var pictures = new ArrayList<>(answered.pictures());
    pictures.addAll(pictures(all));
    return new Reply(
        came.outcome() + ": " + answered.text() + files,
        schema.write(ran),
        pictures.subList(0, Math.min(pictures.size(), PICTURES_MOST)));
  }

  /** The first files; all others can be read one by one. */
  private static List<Reply.Picture> pictures(List<Written.File> files) {
    var pictures = new ArrayList<Reply.Picture>();
    for (Written.File file : files) {
      if (pictures.size() < PICTURES_MOST
          && file.content() instanceof Written.Content.Whole(var bytes)
          && bytes.length <= Images.MOST) {
        Images.type(bytes).ifPresent(type -> pictures.add(new Reply.Picture(type, bytes)));
      }
    }
    return pictures;
  }
}
