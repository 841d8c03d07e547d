package dev.ebb.server.rest;

import dev.ebb.code.CodeRequest;
import dev.ebb.code.CodeTask;
import dev.ebb.code.Languages;
import dev.ebb.code.NewFile;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.access.Caps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Code as a request orders it to be run, and the box for it. */
record CodeOrder(CodeTask task, BoxOrder box, boolean certificate) {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  static CodeOrder parse(Fields fields, Languages languages, Caps caps) {
    Language language = languages.require(required(fields, "language"));
    byte[] code = Fields.utf8("code", required(fields, "code"));
    var files = new ArrayList<NewFile>();
    fields.objects("files").stream().map(Orders::file).forEach(files::add);
    Optional<byte[]> input = fields.bytes("stdin");
    List<String> args = fields.texts("args");
    Map<String, String> environment = fields.textMap("environment");
    Duration run = fields.limit("timeoutMillis", TIMEOUT, caps.timeout());
    Duration compile = fields.limit("compileTimeoutMillis", TIMEOUT, caps.timeout());
    List<Glob> outputs = OrderFields.outputs(fields.texts("outputs"));
    Orders.Ordered ordered = box(fields, caps);
    files.addAll(ordered.files());
    boolean certificate = fields.flag("certificate", true);
    fields.end();
    var times = new CodeRequest.Times(compile, run);
    var request = new CodeRequest(language, code, files, args, environment, input, times, outputs);
    return new CodeOrder(request.task(caps::cap), ordered.order(), certificate);
  }

  /** The box that goes with its code. */
  static Orders.Ordered box(Fields fields, Caps caps) {
    Orders.Ordered ordered = Orders.box(fields.object("box").orElseGet(Fields::none), caps);
    if (ordered.order().detached()) {
      throw bad("\"box.detached\": a box that goes with its code cannot be");
    }
    return ordered;
  }

  private static String required(Fields fields, String name) {
    return fields.text(name).orElseThrow(() -> bad("\"" + name + "\" is missing"));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
