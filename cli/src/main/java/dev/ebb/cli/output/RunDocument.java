package dev.ebb.cli.output;

import dev.ebb.client.Output;
import dev.ebb.exec.Exec;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.model.Certificate;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.OutputLoss;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A run in a box of this process as JSON, by the names that {@code POST /v1/run} has for it. */
public final class RunDocument {
  private RunDocument() {}

  public static String of(
      String box,
      Exec exec,
      ExecResult result,
      byte[] stdout,
      byte[] stderr,
      Certificate certificate) {
    Integer pid = exec.pid().isPresent() ? exec.pid().getAsInt() : null;
    return Json.write(
        JsonObject.empty()
            .with("box", box)
            .with("number", exec.number())
            .with("command", exec.spec().command())
            .with("state", "ended")
            .with("startedAt", exec.startedAt().toString())
            .with("pid", pid)
            .with("pids", List.of())
            .with("stdoutBytes", result.stdoutSize())
            .with("stderrBytes", result.stderrSize())
            .with("endedAt", exec.startedAt().plus(result.wall()).toString())
            .with("status", result.cause().status())
            .with("exitCode", result.cause().code())
            .with("cause", cause(result.cause()))
            .with("durationMillis", result.wall().toMillis())
            .with("truncated", result.truncated())
            .with("lost", lost(result.loss()))
            .with("leftovers", leftovers(result.leftovers()))
            .with("usage", usage(result.usage()))
            .with("stdout", Output.of(stdout).document())
            .with("stderr", Output.of(stderr).document())
            .with("released", certificate.isClean() ? "done" : "stuck")
            .with("certificate", certificate(certificate)));
  }

  private static @Nullable JsonObject lost(OutputLoss loss) {
    return loss.isAny()
        ? JsonObject.empty()
            .with("stdoutBytes", loss.stdout())
            .with("stderrBytes", loss.stderr())
            .with("reason", loss.reason())
        : null;
  }

  private static JsonObject cause(ExitCause cause) {
    JsonObject document = JsonObject.empty().with("kind", cause.kind());
    return switch (cause) {
      case ExitCause.Exited(var code) -> document.with("code", code);
      case ExitCause.Signalled(var signal) -> document.with("signal", signal);
      case ExitCause.TimedOut(var last) -> withLast(document, last);
      case ExitCause.OutOfMemory(var last) -> withLast(document, last);
      case ExitCause.OutputLimit(var last) -> withLast(document, last);
      case ExitCause.OutputLost(var last) -> withLast(document, last);
      case ExitCause.Killed(var last) -> withLast(document, last);
      case ExitCause.NotStarted(var code, var reason) ->
          document.with("code", code).with("message", reason);
      case ExitCause.Lost _ -> document;
      case ExitCause.Stuck(var processes) ->
          document.with("processes", Documents.processes(processes));
    };
  }

  private static JsonObject withLast(JsonObject document, ExitCause.Exit last) {
    return last.signal() != 0
        ? document.with("signal", last.signal())
        : document.with("code", last.code());
  }

  private static JsonObject leftovers(ExecResult.Leftovers leftovers) {
    var kept =
        leftovers.kept().stream()
            .map(k -> JsonObject.empty().with("pid", k.pid()).with("command", k.command()))
            .toList();
    return JsonObject.empty()
        .with("killed", leftovers.count() - leftovers.kept().size())
        .with("kept", kept);
  }

  private static JsonObject usage(CgroupUsage usage) {
    return JsonObject.empty()
        .with("cpuMillis", usage.cpu().toMillis())
        .with("peakMemoryBytes", usage.peakMemoryBytes())
        .with("peakProcesses", usage.peakPids())
        .with("oomKills", usage.oomKills())
        .with("forksRefused", usage.pidsRefused());
  }

  private static JsonObject certificate(Certificate certificate) {
    var stuck =
        certificate.stuck().stream()
            .map(
                s ->
                    JsonObject.empty()
                        .with("kind", s.kind().wireName())
                        .with("subject", s.subject())
                        .with("reason", s.reason()))
            .toList();
    return JsonObject.empty()
        .with("subject", certificate.box())
        .with("held", counts(certificate.held()))
        .with("released", counts(certificate.released()))
        .with("stuck", stuck)
        .with("clean", certificate.isClean())
        .with("durationMillis", certificate.took().toMillis());
  }

  private static JsonObject counts(Map<Kind, Integer> counts) {
    JsonObject document = JsonObject.empty();
    for (Kind kind : Kind.values()) {
      document = document.with(kind.wireName(), counts.get(kind));
    }
    return document;
  }
}
