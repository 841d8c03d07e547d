package dev.ebb.server.rest;

import dev.ebb.admission.Permit;
import dev.ebb.code.CodeResult;
import dev.ebb.code.Languages;
import dev.ebb.exec.OutputLog;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Language;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.answer.OutputStart;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** Code in some language: compiles it, runs it, and returns its files. */
final class CodeRoutes {
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(20);
  private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

  static final String RAN = "it ran, or could not for a fault of its own: see outcome";

  private static final Operation RUN =
      Operation.of("runCode", "Run code in a box of its own, or in a context")
          .with(CertificateRoutes.OF_RUN)
          .takes(CodeOrder.ALL)
          .example("language", "python", "code", "print(6*7)")
          .answers(200, RAN, CodeAnswers::describeAny)
          .answersEvents()
          .fails(Problem.Code.NOT_FOUND, Problem.Code.WRONG_STATE, Problem.Code.SETUP_FAILED);

  private static final Operation LIST =
      Operation.of("listLanguages", "The languages that code may be in")
          .answers(
              200,
              "all that are known, and whether this host has their tools",
              CodeAnswers.LANGUAGES);

  private final BoxRegistry boxes;
  private final RunService runs;
  private final Policy policy;
  private final Languages languages = Languages.ofHost();
  private final CodeCells cells;
  private final Map<Tools, String> versions = new ConcurrentHashMap<>();

  /** A version command, and the time of its last change. */
  private record Tools(List<String> version, List<FileTime> replaced) {}

  CodeRoutes(BoxRegistry boxes, RunService runs, Policy policy) {
    this.boxes = boxes;
    this.runs = runs;
    this.policy = policy;
    cells = new CodeCells(boxes, runs, policy, languages);
  }

  List<Route> routes() {
    return List.of(
        Route.of("POST", "/v1/code", this::run, RUN),
        Route.of("GET", "/v1/languages", this::list, LIST));
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
    exchange.answer(200, CodeAnswers.LANGUAGES.write(all.stream().map(this::known).toList()));
  }

  private Tools tools(Language language) {
    return new Tools(language.version(), languages.replaced(language));
  }

  private CodeAnswers.Tongue known(Language language) {
    String version = versions.getOrDefault(tools(language), "");
    return new CodeAnswers.Tongue(language, languages.missing(language), version);
  }

  /** Asks the tools for their versions in a box, where code would find them. */
  private void probe(Exchange exchange, List<Language> which)
      throws IOException, InterruptedException {
    try (Permit _ = boxes.admitRun(exchange.caller(), exchange::hasLeft)) {
      var order = Orders.box(Fields.none(), policy.caps()).order();
      TenantBox box = boxes.createAdmitted(exchange.caller(), order, _ -> {}, PlannedStart.UNKNOWN);
      try {
        for (Language each : which) {
          versions.put(tools(each), version(box, each));
        }
      } finally {
        boxes.remove(box, true);
      }
    }
  }

  private String version(TenantBox box, Language language) throws InterruptedException {
    ExecSpec spec = policy.caps().cap(ExecSpec.of(language.version()));
    TenantExec exec = boxes.startAdmitted(box, spec.withTimeout(PROBE_TIMEOUT));
    box.awaitEnd(exec, PROBE_TIMEOUT.plus(spec.grace()));
    String output = text(exec.view().stdout()) + "\n" + text(exec.view().stderr());
    var found = VERSION.matcher(output);
    return found.find() ? found.group() : "";
  }

  private static String text(OutputLog log) {
    return new String(OutputStart.read(log), StandardCharsets.UTF_8);
  }

  // --- code ---

  private void run(Exchange exchange) throws IOException, InterruptedException {
    boolean waits = CertificateRoutes.isAwaited(exchange);
    Fields fields = exchange.fields(CodeOrder.ALL);
    if (CellCode.isOrdered(fields)) {
      cells.run(exchange, fields, waits);
      return;
    }
    CodeOrder order = CodeOrder.parse(fields, languages, policy.caps());
    policy.check(exchange.caller(), order.box().spec());
    WaitingResponse answer = WaitingResponse.to(exchange);
    // The code and its files are written with the code, not with the box.
    var place = new RunService.Place(order.box(), List.of(), waits);
    runs.codeAlone(exchange.caller(), place, order.task(), answer, reading(exchange, answer));
  }

  private static RunService.Reading<CodeResult<TenantExec>> reading(
      Exchange exchange, WaitingResponse answer) {
    return new RunService.Reading<>() {
      @Override
      public RunService.Sending read(CodeResult<TenantExec> result) throws InterruptedException {
        return answer.ending(CodeAnswers.CODE, document(result, answer));
      }

      @Override
      public RunService.Sending failed(SandboxException failure) {
        if (!exchange.isAnswered()) {
          throw failure;
        }
        // The status has been sent already: the problem comes at the end.
        return answer.ending(CodeAnswers.LATE, CodeAnswers.late(Problem.of(failure)));
      }
    };
  }

  private static Map<String, Object> document(CodeResult<TenantExec> result, WaitingResponse answer)
      throws InterruptedException {
    // Sends the output of a compiler, which was not sent before.
    boolean isCompiler = result.phase() == CodeResult.Phase.COMPILE;
    TenantExec exec = result.exec();
    return CodeAnswers.ran(result, isCompiler ? answer.whole(exec) : answer.result(exec));
  }
}
