package dev.ebb.cli;

import dev.ebb.box.Box;
import dev.ebb.box.SandboxException;
import dev.ebb.client.Sweep;
import dev.ebb.engine.Doctor;
import dev.ebb.exec.ExecResult;
import dev.ebb.ledger.Certificate;
import dev.ebb.ledger.Kind;
import dev.ebb.process.ExitCause;
import dev.ebb.process.StuckProcess;
import dev.ebb.supervision.Why;
import io.avaje.json.mapper.JsonMapper;
import io.avaje.json.stream.JsonStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Results as one JSON object each, for programs. */
final class Json {
  private static final JsonMapper MAPPER =
      JsonMapper.builder().jsonStream(JsonStream.builder().serializeEmpty(true).build()).build();

  private Json() {}

  static String error(SandboxException e) {
    return MAPPER.toJson(
        Map.of(
            "error",
            object(
                "code", e.code().word(),
                "message", String.valueOf(e.getMessage()),
                "retryable", e.code().isRetryable())));
  }

  static String result(
      Box box, ExecResult result, byte[] stdout, byte[] stderr, Certificate certificate) {
    Map<String, Object> object =
        object(
            "box", box.id().value(),
            "cause", cause(result.cause()),
            "status", result.cause().status(),
            "code", result.cause().code(),
            "stdoutSize", result.stdoutSize(),
            "stderrSize", result.stderrSize(),
            "truncated", result.truncated());
    if (result.loss().isAny()) {
      object.put(
          "lost",
          object(
              "stdoutBytes", result.loss().stdout(),
              "stderrBytes", result.loss().stderr(),
              "reason", result.loss().reason()));
    }
    text(object, "stdout", stdout);
    text(object, "stderr", stderr);
    object.put("wallMillis", result.wall().toMillis());
    object.put("cpuMillis", result.usage().cpu().toMillis());
    object.put("peakMemoryBytes", result.usage().peakMemoryBytes());
    object.put("peakPids", result.usage().peakPids());
    object.put("pidsRefused", result.usage().pidsRefused());
    object.put("oomKills", result.usage().oomKills());
    object.put("leftovers", leftovers(result.leftovers()));
    object.put("certificate", certificate(certificate));
    return MAPPER.toJson(object);
  }

  /** The type's own name, and what it knows. */
  private static Map<String, Object> cause(ExitCause cause) {
    Map<String, Object> object = object("kind", cause.getClass().getSimpleName());
    switch (cause) {
      case ExitCause.Exited(var code) -> object.put("code", code);
      case ExitCause.Signalled(var signal) -> object.put("signal", signal);
      case ExitCause.TimedOut(var last) -> last(object, last);
      case ExitCause.OutOfMemory(var last) -> last(object, last);
      case ExitCause.OutputLimit(var last) -> last(object, last);
      case ExitCause.OutputLost(var last) -> last(object, last);
      case ExitCause.Killed(var last) -> last(object, last);
      case ExitCause.NotStarted(_, var reason) -> object.put("reason", reason);
      case ExitCause.Lost _ -> {}
      case ExitCause.Stuck(var processes) -> object.put("processes", processes(processes));
    }
    return object;
  }

  private static void last(Map<String, Object> object, ExitCause.Exit last) {
    if (last.signal() != 0) {
      object.put("signal", last.signal());
    } else {
      object.put("code", last.code());
    }
  }

  /** Text if it is UTF-8; anything else as base64, under a name that says so. */
  private static void text(Map<String, Object> object, String name, byte[] bytes) {
    try {
      object.put(
          name, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException e) {
      object.put(name + "Base64", Base64.getEncoder().encodeToString(bytes));
    }
  }

  private static Map<String, Object> leftovers(ExecResult.Leftovers leftovers) {
    List<Map<String, Object>> kept =
        leftovers.kept().stream().map(k -> object("pid", k.pid(), "command", k.command())).toList();
    return object("count", leftovers.count(), "kept", kept);
  }

  private static Map<String, Object> certificate(Certificate certificate) {
    return object(
        "clean", certificate.isClean(),
        "held", counts(certificate.held()),
        "released", counts(certificate.released()),
        "stuck",
            certificate.stuck().stream()
                .map(
                    s ->
                        object(
                            "kind", s.kind().word(), "subject", s.subject(), "reason", s.reason()))
                .toList(),
        "tookMicros", certificate.took().toNanos() / 1000);
  }

  private static Map<String, Object> counts(Map<Kind, Integer> counts) {
    var object = new LinkedHashMap<String, Object>();
    for (Kind kind : Kind.values()) {
      if (counts.containsKey(kind)) {
        object.put(kind.word(), counts.get(kind));
      }
    }
    return object;
  }

  static String findings(List<Sweep.Finding> findings) {
    return MAPPER.toJson(
        findings.stream()
            .map(
                f ->
                    object(
                        "instance", f.instance(),
                        "kind", f.kind(),
                        "subject", f.subject(),
                        "fate", f.fate(),
                        "reason", f.reason()))
            .toList());
  }

  static String why(Why.Answer answer) {
    return MAPPER.toJson(
        object(
            "box", answer.box(),
            "instance", answer.instance(),
            "runtime", answer.runtime(),
            "runtimeLives", answer.runtimeLives(),
            "reason", answer.reason(),
            "holdings",
                answer.holdings().stream()
                    .map(h -> object("kind", h.kind().word(), "subject", h.subject()))
                    .toList(),
            "processes", processes(answer.processes())));
  }

  private static List<Map<String, Object>> processes(List<StuckProcess> processes) {
    return processes.stream()
        .map(
            p ->
                object(
                    "pid", p.pid(),
                    "state", String.valueOf(p.state()),
                    "waitChannel", p.waitChannel(),
                    "file", p.file()))
        .toList();
  }

  static String checks(List<Doctor.Check> checks) {
    return MAPPER.toJson(
        checks.stream()
            .map(
                c ->
                    object(
                        "name", c.name(),
                        "verdict", c.verdict().word(),
                        "finding", c.finding(),
                        "remedy", c.remedy()))
            .toList());
  }

  private static Map<String, Object> object(Object... pairs) {
    var object = new LinkedHashMap<String, Object>();
    for (int i = 0; i < pairs.length; i += 2) {
      object.put((String) pairs[i], pairs[i + 1]);
    }
    return object;
  }
}
