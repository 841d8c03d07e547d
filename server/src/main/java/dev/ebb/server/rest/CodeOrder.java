package dev.ebb.server.rest;

import dev.ebb.code.CodeRequest;
import dev.ebb.code.CodeTask;
import dev.ebb.code.Languages;
import dev.ebb.code.NewFile;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.access.Caps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A request to run code, and the box for it. */
record CodeOrder(CodeTask task, BoxOrder box) {
  static final Duration TIMEOUT = Duration.ofSeconds(60);

  // --- what a request may say ---

  static final Field<Optional<String>> LANGUAGE =
      Field.text("language").described("a name or an alias; needed unless there is a context");
  static final Field<String> CODE = Field.requiredText("code");
  private static final Field<List<String>> ARGS = Field.texts("args");
  private static final Field<Optional<byte[]>> STDIN = Field.bytes("stdin");
  static final Field<List<Fields>> FILES = Orders.FILES.described("what lies beside the code");
  static final Field<Map<String, String>> ENVIRONMENT = Field.textMap("environment");
  static final Field<Optional<Duration>> RUN_TIMEOUT =
      Field.millis("timeoutMillis").described("of the run; default 60000");
  private static final Field<Optional<Duration>> COMPILE_TIMEOUT =
      Field.millis("compileTimeoutMillis").described("default 60000");
  private static final Field<Fields> BOX = Field.part("box", Orders.BOX);

  /** All fields of a code request; context and rich decide which are allowed. */
  static final RequestSchema ALL =
      RequestSchema.named(
          "CodeRequest",
          LANGUAGE,
          CODE,
          ARGS,
          STDIN,
          FILES,
          OrderFields.OUTPUTS,
          ENVIRONMENT,
          RUN_TIMEOUT,
          COMPILE_TIMEOUT,
          BOX,
          CellCode.CONTEXT,
          CellCode.RICH);

  /** Code for an interpreter made for it. */
  static final RequestSchema RICH = ALL.without(ARGS, STDIN, COMPILE_TIMEOUT);

  /** Code for an existing interpreter. */
  static final RequestSchema PLACED = ALL.without(ARGS, STDIN, COMPILE_TIMEOUT, BOX);

  // --- reading it ---

  static CodeOrder parse(Fields fields, Languages languages, Caps caps) {
    String word = fields.get(LANGUAGE).orElseThrow(() -> bad("\"language\" is missing"));
    Language language = languages.require(word);
    byte[] code = Fields.utf8("code", fields.get(CODE));
    var files = new ArrayList<NewFile>();
    fields.get(FILES).stream().map(Orders::file).forEach(files::add);
    Optional<byte[]> input = fields.get(STDIN);
    List<String> args = fields.get(ARGS);
    Map<String, String> environment = fields.get(ENVIRONMENT);
    Duration run = fields.limit(RUN_TIMEOUT, TIMEOUT, caps.timeout());
    Duration compile = fields.limit(COMPILE_TIMEOUT, TIMEOUT, caps.timeout());
    List<Glob> outputs = OrderFields.outputs(fields.get(OrderFields.OUTPUTS));
    Orders.Ordered ordered = box(fields, caps);
    files.addAll(ordered.files());
    fields.end();
    var times = new CodeRequest.Times(compile, run);
    var request = new CodeRequest(language, code, files, args, environment, input, times, outputs);
    return new CodeOrder(request.task(caps::cap), ordered.order());
  }

  /** Returns the box that is removed with the answer. */
  static Orders.Ordered box(Fields fields, Caps caps) {
    Orders.Ordered ordered = Orders.box(fields.get(BOX), caps);
    if (ordered.order().detached()) {
      throw bad("\"box.detached\": a box that goes with its code cannot be");
    }
    return ordered;
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
