package dev.ebb.cli.output;

import dev.ebb.box.Box;
import dev.ebb.client.Sweep;
import dev.ebb.engine.Doctor;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StuckProcess;
import dev.ebb.supervision.Why;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The engine's results as JSON, one document each. */
public final class Documents {
  private Documents() {}

  public static String error(SandboxException e) {
    var error =
        JsonObject.empty()
            .with("code", e.code().word())
            .with("message", String.valueOf(e.getMessage()))
            .with("retryable", e.code().isRetryable());
    return Json.write(JsonObject.empty().with("error", error));
  }

  public static String result(
      Box box, ExecResult result, byte[] stdout, byte[] stderr, Certificate certificate) {
    var document =
        JsonObject.empty()
            .with("box", box.id().value())
            .with("cause", cause(result.cause()))
            .with("status", result.cause().status())
            .with("code", result.cause().code())
            .with("stdoutSize", result.stdoutSize())
            .with("stderrSize", result.stderrSize())
            .with("truncated", result.truncated())
            .with("lost", lost(result));
    document = withText(document, "stdout", stdout);
    document = withText(document, "stderr", stderr);
    return Json.write(
        document
            .with("wallMillis", result.wall().toMillis())
            .with("cpuMillis", result.usage().cpu().toMillis())
            .with("peakMemoryBytes", result.usage().peakMemoryBytes())
            .with("peakPids", result.usage().peakPids())
            .with("pidsRefused", result.usage().pidsRefused())
            .with("oomKills", result.usage().oomKills())
            .with("leftovers", leftovers(result.leftovers()))
            .with("certificate", certificate(certificate)));
  }

  private static @Nullable JsonObject lost(ExecResult result) {
    return result.loss().isAny()
        ? JsonObject.empty()
            .with("stdoutBytes", result.loss().stdout())
            .with("stderrBytes", result.loss().stderr())
            .with("reason", result.loss().reason())
        : null;
  }

  /** The name of the type, and its values. */
  private static JsonObject cause(ExitCause cause) {
    JsonObject document = JsonObject.empty().with("kind", cause.getClass().getSimpleName());
    return switch (cause) {
      case ExitCause.Exited(var code) -> document.with("code", code);
      case ExitCause.Signalled(var signal) -> document.with("signal", signal);
      case ExitCause.TimedOut(var last) -> withLast(document, last);
      case ExitCause.OutOfMemory(var last) -> withLast(document, last);
      case ExitCause.OutputLimit(var last) -> withLast(document, last);
      case ExitCause.OutputLost(var last) -> withLast(document, last);
      case ExitCause.Killed(var last) -> withLast(document, last);
      case ExitCause.NotStarted(_, var reason) -> document.with("reason", reason);
      case ExitCause.Lost _ -> document;
      case ExitCause.Stuck(var processes) -> document.with("processes", processes(processes));
    };
  }

  private static JsonObject withLast(JsonObject document, ExitCause.Exit last) {
    return last.signal() != 0
        ? document.with("signal", last.signal())
        : document.with("code", last.code());
  }

  /** UTF-8 as text, other bytes as base64 in a member of another name. */
  private static JsonObject withText(JsonObject document, String name, byte[] bytes) {
    try {
      return document.with(
          name, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException e) {
      return document.with(name + "Base64", Base64.getEncoder().encodeToString(bytes));
    }
  }

  private static JsonObject leftovers(ExecResult.Leftovers leftovers) {
    var kept =
        leftovers.kept().stream()
            .map(k -> JsonObject.empty().with("pid", k.pid()).with("command", k.command()))
            .toList();
    return JsonObject.empty().with("count", leftovers.count()).with("kept", kept);
  }

  private static JsonObject certificate(Certificate certificate) {
    var stuck =
        certificate.stuck().stream()
            .map(
                s ->
                    JsonObject.empty()
                        .with("kind", s.kind().word())
                        .with("subject", s.subject())
                        .with("reason", s.reason()))
            .toList();
    return JsonObject.empty()
        .with("clean", certificate.isClean())
        .with("held", counts(certificate.held()))
        .with("released", counts(certificate.released()))
        .with("stuck", stuck)
        .with("tookMicros", certificate.took().toNanos() / 1000);
  }

  private static JsonObject counts(Map<Kind, Integer> counts) {
    JsonObject document = JsonObject.empty();
    for (Kind kind : Kind.values()) {
      document = document.with(kind.word(), counts.get(kind));
    }
    return document;
  }

  public static String findings(List<Sweep.Finding> findings) {
    return Json.write(
        findings.stream()
            .map(
                f ->
                    JsonObject.empty()
                        .with("instance", f.instance())
                        .with("kind", f.kind())
                        .with("subject", f.subject())
                        .with("fate", f.fate())
                        .with("reason", f.reason()))
            .toList());
  }

  public static String why(Why.Answer answer) {
    var holdings =
        answer.holdings().stream()
            .map(h -> JsonObject.empty().with("kind", h.kind().word()).with("subject", h.subject()))
            .toList();
    return Json.write(
        JsonObject.empty()
            .with("box", answer.box())
            .with("instance", answer.instance())
            .with("runtime", answer.runtime())
            .with("runtimeLives", answer.runtimeLives())
            .with("reason", answer.reason())
            .with("holdings", holdings)
            .with("processes", processes(answer.processes())));
  }

  private static List<JsonObject> processes(List<StuckProcess> processes) {
    return processes.stream()
        .map(
            p ->
                JsonObject.empty()
                    .with("pid", p.pid())
                    .with("state", String.valueOf(p.state()))
                    .with("waitChannel", p.waitChannel())
                    .with("file", p.file()))
        .toList();
  }

  public static String checks(List<Doctor.Check> checks) {
    return Json.write(
        checks.stream()
            .map(
                c ->
                    JsonObject.empty()
                        .with("name", c.name())
                        .with("verdict", c.verdict().word())
                        .with("finding", c.finding())
                        .with("remedy", c.remedy()))
            .toList());
  }
}
