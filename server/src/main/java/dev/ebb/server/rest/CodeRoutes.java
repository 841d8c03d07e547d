package dev.ebb.server.rest;

import dev.ebb.box.SandboxException;
import dev.ebb.code.Language;
import dev.ebb.code.Languages;
import dev.ebb.code.WorkspaceFiles;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.ExecResult;
import dev.ebb.exec.ExecSpec;
import dev.ebb.exec.FileContent;
import dev.ebb.exec.FileEntry;
import dev.ebb.exec.OutputLog;
import dev.ebb.pressure.Permit;
import dev.ebb.process.ExitCause;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedExec;
import java.io.IOException;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** Code in some language: compiled, run, and what it wrote handed back. */
final class CodeRoutes {
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(20);
  private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

  /** Of the files that are asked for, in all. */
  private static final int CONTENT_MOST = 8 << 20;

  private final Boxes boxes;
  private final Policy policy;
  private final Languages languages = Languages.ofHost();
  private final Map<List<String>, String> versions = new ConcurrentHashMap<>();

  CodeRoutes(Boxes boxes, Policy policy) {
    this.boxes = boxes;
    this.policy = policy;
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
            .filter(each -> !versions.containsKey(each.version()))
            .toList();
    if (!unknown.isEmpty()) {
      probe(exchange, unknown);
    }
    exchange.answer(200, Documents.object("languages", all.stream().map(this::document).toList()));
  }

  private Map<String, Object> document(Language language) {
    List<String> missing = languages.missing(language);
    String version = versions.getOrDefault(language.version(), "");
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
      ServedBox box = boxes.createAdmitted(exchange.caller(), order, _ -> {}, Optional.empty());
      try {
        for (Language each : which) {
          versions.put(each.version(), version(box, each));
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
    CodeOrder order = CodeOrder.parse(Fields.parse(exchange.body()), languages, policy.caps());
    policy.check(exchange.caller(), order.box().spec());
    try (Permit permit = boxes.admitRun(exchange.caller(), exchange::hasLeft)) {
      ServedBox box =
          boxes.createAdmitted(
              exchange.caller(),
              order.box(),
              made -> FileRoutes.write(made, order.files()),
              Optional.empty());
      try {
        run(exchange, order, box, permit);
      } catch (IOException | InterruptedException | RuntimeException e) {
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
      document = outcome(order, box, permit, answer);
    } catch (SandboxException e) {
      if (!exchange.isAnswered()) {
        throw e;
      }
      // Too late for a problem document: what was begun is ended by what it would have said.
      document =
          Documents.object(
              "outcome",
              "refused",
              "code",
              e.code().word(),
              "detail",
              String.valueOf(e.getMessage()));
    }
    if (order.certificate()) {
      document.put("certificate", Documents.certificate(boxes.remove(box, true)));
    } else {
      boxes.removeAside(box);
    }
    answer.end(document);
  }

  private Map<String, Object> outcome(
      CodeOrder order, ServedBox box, Permit permit, LateAnswer answer)
      throws IOException, InterruptedException {
    var files = new BoxFiles(box.box());
    if (order.compile().isPresent()) {
      ServedExec compiler = boxes.startAdmitted(box, order.compile().get());
      answer.await(compiler);
      ExecResult compiled = result(compiler);
      if (!compiled.cause().equals(new ExitCause.Exited(0))) {
        String word =
            compiled.cause() instanceof ExitCause.Exited
                ? "compile-error"
                : compiled.cause().status();
        return document(order, "compile", word, Documents.result(compiler));
      }
    }
    WorkspaceFiles before = WorkspaceFiles.of(files);
    ServedExec program = boxes.startAdmitted(box, order.run());
    permit.close();
    order.input().ifPresent(bytes -> ExecRoutes.feed(program, bytes));
    answer.follow(program);
    ExecResult ran = result(program);
    var document =
        document(
            order,
            "run",
            word(order.language(), program, ran.cause()),
            answer.isWhole() ? Documents.result(program) : Documents.exec(program));
    addFiles(document, order, files, before);
    return document;
  }

  private static Map<String, Object> document(
      CodeOrder order, String phase, String outcome, Map<String, Object> exec) {
    var document =
        Documents.object("language", order.language().name(), "phase", phase, "outcome", outcome);
    document.putAll(exec);
    return document;
  }

  private ExecResult result(ServedExec exec) {
    return switch (exec.ending().orElseThrow()) {
      case ServedExec.Ending.Result(var result, _) -> result;
      case ServedExec.Ending.Refused(var reason, _) -> throw boxes.explain(reason, exec);
    };
  }

  private static String word(Language language, ServedExec exec, ExitCause cause) {
    if (!(cause instanceof ExitCause.Exited(var code))) {
      return cause.status();
    }
    if (code == 0) {
      return "ok";
    }
    return language.isInvalid(text(exec.exec().stderr())) ? "compile-error" : "failed";
  }

  // --- what it wrote ---

  /** A box that did not live so long has none. */
  private static void addFiles(
      Map<String, Object> document, CodeOrder order, BoxFiles box, WorkspaceFiles before)
      throws IOException, InterruptedException {
    WorkspaceFiles written;
    try {
      written = WorkspaceFiles.of(box).since(before);
    } catch (SandboxException e) {
      document.put("files", List.of());
      document.put("filesLost", String.valueOf(e.getMessage()));
      return;
    }
    var files = new ArrayList<Map<String, Object>>();
    int left = CONTENT_MOST;
    for (Map.Entry<String, FileEntry> each : written.files().entrySet()) {
      var file = described(each.getKey(), each.getValue());
      if (order.wants(each.getKey())) {
        Optional<byte[]> content = content(box, each.getKey(), left);
        content.ifPresent(bytes -> file.put("content", Documents.output(bytes)));
        file.put("cut", content.isEmpty());
        left -= content.map(bytes -> bytes.length).orElse(0);
      }
      files.add(file);
    }
    document.put("files", files);
    document.put("filesCut", written.isCut());
  }

  private static Map<String, Object> described(String path, FileEntry entry) {
    String type = URLConnection.guessContentTypeFromName(path);
    return new LinkedHashMap<>(
        Documents.object(
            "path",
            path,
            "sizeBytes",
            entry.size(),
            "type",
            type == null ? "application/octet-stream" : type));
  }

  /** All of it, or nothing when it is too long or gone. */
  private static Optional<byte[]> content(BoxFiles box, String path, int most)
      throws IOException, InterruptedException {
    try (FileContent content = box.read(WorkspaceFiles.path(path), 0)) {
      byte[] bytes = content.readNBytes(most + 1);
      return bytes.length > most ? Optional.empty() : Optional.of(bytes);
    } catch (SandboxException e) {
      return Optional.empty();
    }
  }
}
