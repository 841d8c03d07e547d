package dev.ebb.cli.output;

import dev.ebb.client.Sweep;
import dev.ebb.engine.Doctor;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StuckProcess;
import dev.ebb.supervision.Why;
import java.util.List;

/** The engine's results as JSON, one document each. */
public final class Documents {
  private Documents() {}

  public static String error(SandboxException e) {
    var error =
        JsonObject.empty()
            .with("code", e.code().wireName())
            .with("message", String.valueOf(e.getMessage()))
            .with("retryable", e.code().isRetryable());
    return Json.write(JsonObject.empty().with("error", error));
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
            .map(
                h ->
                    JsonObject.empty()
                        .with("kind", h.kind().wireName())
                        .with("subject", h.subject()))
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

  static List<JsonObject> processes(List<StuckProcess> processes) {
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
                        .with("verdict", c.verdict().wireName())
                        .with("finding", c.finding())
                        .with("remedy", c.remedy()))
            .toList());
  }
}
