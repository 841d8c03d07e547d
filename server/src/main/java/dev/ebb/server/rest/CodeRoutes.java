package dev.ebb.server.rest;

import dev.ebb.box.SandboxException;
import dev.ebb.code.Language;
import dev.ebb.code.Languages;
import dev.ebb.exec.ExecSpec;
import dev.ebb.exec.OutputLog;
import dev.ebb.pool.Beginning;
import dev.ebb.pressure.Permit;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedExec;
import dev.ebb.server.code.CodeResult;
import dev.ebb.server.code.CodeRun;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** Code in some language: compiled, run, and what it wrote handed back. */
final class CodeRoutes {
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(20);
  private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

  private final Boxes boxes;
  private final Policy policy;
  private final Languages languages = Languages.ofHost();
  private final CodeCells cells;
  private final Map<Tools, String> versions = new ConcurrentHashMap<>();

  /** What tells a version, and since when it is what it is. */
  private record Tools(List<String> version, List<FileTime> replaced) {}

  CodeRoutes(Boxes boxes, Policy policy) {
    this.boxes = boxes;
    this.policy = policy;
    cells = new CodeCells(boxes, policy, languages);
  }

  List<Route> routes() {
    return List.of(
        Route.of("POST", "/v1/code", this::run), Route.of("GET", "/v1/languages", this::list));
  }

  // --- languages ---

  private void list(Exchange exchange) throws IOException, InterruptedException {
    List<Language> all = languages.all();
    List<Language> unknown =
        all.stream()
            .filter(languages::isInstalled)
            .filter(each -> !versions.containsKey(tools(each)))
            .toList();
    if (!unknown.isEmpty()) {
      probe(exchange, unknown);
    }
    exchange.answer(200, Documents.object("languages", all.stream().map(this::document).toList()));
  }

  private Tools tools(Language language) {
    return new Tools(language.version(), languages.replaced(language));
  }

  private Map<String, Object> document(Language language) {
    List<String> missing = languages.missing(language);
    String version = versions.getOrDefault(tools(language), "");
    var document =
        Documents.object(
            "name", language.name(),
            "aliases", language.aliases(),
            "file", language.file(),
            "available", missing.isEmpty());
    if (!missing.isEmpty()) {
      document.put("missing", missing);
    } else if (!version.isEmpty()) {
      document.put("version", version);
    }
    return document;
  }

  /** Asks the tools for their versions, where code would find them: in a box. */
  private void probe(Exchange exchange, List<Language> which)
      throws IOException, InterruptedException {
    try (Permit _ = boxes.admitRun(exchange.caller(), exchange::hasLeft)) {
      var order = Orders.box(Fields.none(), policy.caps()).order();
      ServedBox box = boxes.createAdmitted(exchange.caller(), order, _ -> {}, Beginning.UNKNOWN);
      try {
        for (Language each : which) {
          versions.put(tools(each), version(box, each));
        }
      } finally {
        boxes.remove(box, true);
      }
    }
  }

  private String version(ServedBox box, Language language) throws InterruptedException {
    ExecSpec spec = Orders.capped(ExecSpec.of(language.version()), policy.caps());
    ServedExec exec = boxes.startAdmitted(box, spec.withTimeout(PROBE_TIMEOUT));
    box.attend(exec, PROBE_TIMEOUT.plus(spec.grace()));
    String said = text(exec.exec().stdout()) + "\n" + text(exec.exec().stderr());
    var found = VERSION.matcher(said);
    return found.find() ? found.group() : "";
  }

  private static String text(OutputLog log) {
    return new String(Documents.read(log, 0), StandardCharsets.UTF_8);
  }

  // --- code ---

  private void run(Exchange exchange) throws IOException, InterruptedException {
    Fields fields = exchange.fields();
    if (CellCode.isOrdered(fields)) {
      cells.run(exchange, fields);
      return;
    }
    CodeOrder order = CodeOrder.parse(fields, languages, policy.caps());
    policy.check(exchange.caller(), order.box().spec());
    try (Permit permit = boxes.admitRun(exchange.caller(), exchange::hasLeft)) {
      ServedBox box =
          boxes.createAdmitted(exchange.caller(), order.box(), _ -> {}, order.task().beginning());
      try {
        run(exchange, order, box, permit);
      } catch (IOException | InterruptedException | RuntimeException | Error e) {
        boxes.remove(box, true);
        throw e;
      }
    }
  }

  private void run(Exchange exchange, CodeOrder order, ServedBox box, Permit permit)
      throws IOException, InterruptedException {
    LateAnswer answer = LateAnswer.to(exchange);
    Map<String, Object> document;
    try {
      var run = new CodeRun(boxes, box, order.task(), answer, exchange::hasLeft).admitted(permit);
      document = document(exchange, run.run(), answer.isWhole());
    } catch (SandboxException e) {
      if (!exchange.isAnswered()) {
        throw e;
      }
      // Its status has been told already: what it would have been comes in the end.
      document = Documents.object("problem", Problem.of(e).document());
    }
    if (order.certificate()) {
      document.put("certificate", Documents.certificate(boxes.remove(box, true)));
    } else {
      boxes.removeAside(box);
    }
    answer.end(document);
  }

  private static Map<String, Object> document(Exchange exchange, CodeResult result, boolean isWhole)
      throws InterruptedException {
    var document =
        Documents.object(
            "language", result.language().name(),
            "phase", result.phase().word(),
            "outcome", result.outcome());
    // What a compiler wrote was not told before.
    boolean withOutput = isWhole || result.phase() == CodeResult.Phase.COMPILE;
    document.putAll(
        withOutput ? Documents.result(exchange, result.exec()) : Documents.exec(result.exec()));
    result.written().ifPresent(written -> Documents.addWritten(document, written));
    return document;
  }
}
