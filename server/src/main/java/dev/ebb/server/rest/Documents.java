package dev.ebb.server.rest;

import dev.ebb.code.Cell;
import dev.ebb.code.Written;
import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Segment;
import dev.ebb.model.Certificate;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Output;
import dev.ebb.server.service.OutputReading;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.TenantExec;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What is said, as JSON objects. */
final class Documents {
  /** How much of each stream goes into one answer. */
  static final int OUTPUT_MOST = 1 << 20;

  /** For so much there is always room. */
  private static final int OUTPUT_LEAST = 16 * 1024;

  private Documents() {}

  static Map<String, Object> object(Object... pairs) {
    var object = new LinkedHashMap<String, Object>();
    for (int i = 0; i < pairs.length; i += 2) {
      object.put((String) pairs[i], pairs[i + 1]);
    }
    return object;
  }

  // --- boxes ---

  static Map<String, Object> box(TenantBox box) {
    var order = box.order();
    var document = object("id", box.id());
    order.name().ifPresent(name -> document.put("name", name));
    document.put("tenant", box.tenant());
    document.put("state", box.state().word());
    document.put("labels", order.labels());
    document.put("limits", limits(order.spec().limits()));
    document.put("network", network(box.network()));
    document.put("mounts", order.spec().mounts().stream().map(Documents::mount).toList());
    document.put("packages", order.spec().packages().stream().map(Path::toString).toList());
    box.backend().ifPresent(name -> document.put("backend", name));
    document.put("detached", order.detached());
    document.put("createdAt", box.createdAt().toString());
    order.ttl().ifPresent(ttl -> document.put("ttlMillis", ttl.toMillis()));
    box.expiresAt().ifPresent(at -> document.put("expiresAt", at.toString()));
    order.idleTimeout().ifPresent(idle -> document.put("idleTimeoutMillis", idle.toMillis()));
    box.endedAt().ifPresent(at -> document.put("endedAt", at.toString()));
    box.endedBy().ifPresent(by -> document.put("endedBy", by.wireName()));
    document.put("runningExecs", box.running());
    box.certificate().ifPresent(proof -> document.put("certificate", certificate(proof)));
    return document;
  }

  static Object network(Network network) {
    return network.policy().isEmpty()
        ? network.toString()
        : object("allow", network.policy().rules());
  }

  private static Map<String, Object> limits(Limits limits) {
    return object(
        "memoryBytes", limits.memory().bytes(),
        "pids", limits.pids(),
        "cpus", limits.cpus(),
        "diskBytes", limits.disk().bytes());
  }

  private static Map<String, Object> mount(Mount mount) {
    return object(
        "source", mount.host().toString(), "target", mount.box(), "readOnly", mount.readOnly());
  }

  static Map<String, Object> certificate(Certificate certificate) {
    return object(
        "subject", certificate.box(),
        "held", counts(certificate.held()),
        "released", counts(certificate.released()),
        "stuck",
            certificate.stuck().stream()
                .map(
                    s ->
                        object(
                            "kind", s.kind().word(), "subject", s.subject(), "reason", s.reason()))
                .toList(),
        "clean", certificate.isClean(),
        "durationMillis", certificate.took().toMillis());
  }

  static Map<String, Object> counts(Map<Kind, ? extends Number> counts) {
    var object = new LinkedHashMap<String, Object>();
    for (Kind kind : Kind.values()) {
      if (counts.containsKey(kind)) {
        object.put(kind.word(), counts.get(kind));
      }
    }
    return object;
  }

  // --- execs ---

  static Map<String, Object> exec(TenantExec exec) {
    var document =
        object(
            "box", exec.box().id(),
            "number", exec.number(),
            "command", exec.spec().command(),
            "state", exec.isRunning() ? "running" : "ended",
            "startedAt", exec.startedAt().toString());
    exec.exec().pid().ifPresent(pid -> document.put("pid", pid));
    var ending = exec.ending();
    document.put("pids", ending.isPresent() ? List.of() : pids(exec));
    document.put("stdoutBytes", exec.exec().stdout().size());
    document.put("stderrBytes", exec.exec().stderr().size());
    if (ending.isPresent()) {
      document.put("endedAt", ending.get().at().toString());
      switch (ending.get()) {
        case TenantExec.Ending.Result(var result, _) -> result(document, result);
        case TenantExec.Ending.Refused(var reason, _) -> {
          document.put("status", "not-started");
          document.put("exitCode", 125);
          document.put(
              "cause",
              object("kind", "not-started", "message", String.valueOf(reason.getMessage())));
        }
      }
    }
    return document;
  }

  /** RACE: its box may end meanwhile, and the cgroup that would tell is gone. */
  private static List<Integer> pids(TenantExec exec) {
    try {
      return exec.exec().pids();
    } catch (SandboxException e) {
      if (exec.box().state().isAlive()) {
        throw e;
      }
      return List.of();
    }
  }

  private static void result(Map<String, Object> document, ExecResult result) {
    document.put("status", result.cause().status());
    document.put("exitCode", result.cause().code());
    document.put("cause", cause(result.cause()));
    document.put("durationMillis", result.wall().toMillis());
    document.put("truncated", result.truncated());
    addLoss(document, result.loss());
    document.put(
        "leftovers",
        object(
            "killed",
            result.leftovers().count() - result.leftovers().kept().size(),
            "kept",
            result.leftovers().kept().stream()
                .map(kept -> object("pid", kept.pid(), "command", kept.command()))
                .toList()));
    document.put("usage", usage(result.usage()));
  }

  static Map<String, Object> usage(CgroupUsage usage) {
    return object(
        "cpuMillis", usage.cpu().toMillis(),
        "peakMemoryBytes", usage.peakMemoryBytes(),
        "peakProcesses", usage.peakPids(),
        "oomKills", usage.oomKills(),
        "forksRefused", usage.pidsRefused());
  }

  static Map<String, Object> cause(ExitCause cause) {
    return switch (cause) {
      case ExitCause.Exited(var code) -> object("kind", "exited", "code", code);
      case ExitCause.Signalled(var signal) -> object("kind", "signalled", "signal", signal);
      case ExitCause.TimedOut(var last) -> last("timed-out", last);
      case ExitCause.OutOfMemory(var last) -> last("out-of-memory", last);
      case ExitCause.OutputLimit(var last) -> last("output-limit", last);
      case ExitCause.OutputLost(var last) -> last("output-lost", last);
      case ExitCause.Killed(var last) -> last("killed", last);
      case ExitCause.NotStarted(var code, var reason) ->
          object("kind", "not-started", "code", code, "message", reason);
      case ExitCause.Lost _ -> object("kind", "lost");
      case ExitCause.Stuck(var processes) ->
          object(
              "kind",
              "stuck",
              "processes",
              processes.stream()
                  .map(
                      p ->
                          object(
                              "pid", p.pid(),
                              "state", String.valueOf(p.state()),
                              "waitChannel", p.waitChannel(),
                              "file", p.file()))
                  .toList());
    };
  }

  private static Map<String, Object> last(String kind, ExitCause.Exit last) {
    return last.signal() != 0
        ? object("kind", kind, "signal", last.signal())
        : object("kind", kind, "code", last.code());
  }

  private static void addLoss(Map<String, Object> document, OutputLoss loss) {
    if (loss.isAny()) {
      document.put(
          "lost",
          object(
              "stdoutBytes", loss.stdout(),
              "stderrBytes", loss.stderr(),
              "reason", loss.reason()));
    }
  }

  /** What was stored, and can be read no more, is lost as well: then no end was a good one. */
  static void addUnread(Map<String, Object> document, OutputLoss unread) {
    if (!unread.isAny()) {
      return;
    }
    var before = document.get("lost") instanceof Map<?, ?> stored ? stored : Map.of();
    document.put(
        "lost",
        object(
            "stdoutBytes", unread.stdout() + count(before.get("stdoutBytes")),
            "stderrBytes", unread.stderr() + count(before.get("stderrBytes")),
            "reason", before.containsKey("reason") ? before.get("reason") : unread.reason()));
    if ("exited".equals(document.get("status"))) {
      var lost = new ExitCause.OutputLost(new ExitCause.Exit(code(document), 0));
      document.put("status", lost.status());
      document.put("exitCode", lost.code());
      document.put("cause", cause(lost));
    }
    document.computeIfPresent(
        "outcome",
        (_, word) -> word.equals(Cell.Outcome.OK.word()) ? Cell.Outcome.OUTPUT_LOST.word() : word);
  }

  private static long count(@Nullable Object number) {
    return number instanceof Number known ? known.longValue() : 0;
  }

  private static int code(Map<String, Object> document) {
    return document.get("exitCode") instanceof Integer code ? code : 0;
  }

  // --- contexts ---

  static Map<String, Object> context(TenantContext context) {
    var document = object("id", context.id());
    context.name().ifPresent(name -> document.put("name", name));
    document.put("box", context.box().id());
    document.put("language", context.order().runner().word());
    document.put("state", context.state().word());
    document.put("waiting", context.waiting());
    document.put("exec", context.exec().number());
    document.put("createdAt", context.createdAt().toString());
    context.broken().ifPresent(what -> document.put("broken", what));
    context
        .cause()
        .ifPresent(
            end -> {
              document.put("status", end.status());
              document.put("exitCode", end.code());
              document.put("cause", cause(end));
            });
    return document;
  }

  /**
   * One that has ended.
   *
   * @param isWhole with what it wrote and showed
   */
  static Map<String, Object> cell(
      Exchange exchange, TenantContext context, Cell cell, boolean isWhole)
      throws InterruptedException {
    Cell.Result result = cell.result().orElseThrow();
    var document =
        object(
            "context", context.id(),
            "number", cell.number(),
            "outcome", result.outcome().word(),
            "state", context.state().word(),
            "durationMillis", result.took().toMillis());
    if (context.order().runner().hasStatus()) {
      document.put("exitCode", result.status());
    }
    cell.thrown()
        .ifPresent(
            thrown ->
                document.put(
                    "error",
                    object(
                        "name", thrown.name(),
                        "value", thrown.value(),
                        "traceback", thrown.traceback())));
    result.cause().ifPresent(cause -> document.put("cause", cause(cause)));
    result.detail().ifPresent(detail -> document.put("broken", detail));
    boolean isCut = cell.isCut();
    if (cell.segment().isPresent()) {
      Segment segment = cell.segment().get();
      document.put("stdoutBytes", segment.stdout().size());
      document.put("stderrBytes", segment.stderr().size());
      addLoss(document, segment.loss());
      isCut |= isWhole && addOutput(exchange, document, segment);
    }
    document.put("truncated", isCut);
    if (isWhole) {
      List<Cell.Shown> shown = cell.shown(0);
      shown.stream().filter(Cell.Shown::isResult).forEach(v -> document.put("result", forms(v)));
      document.put(
          "displays", shown.stream().filter(v -> !v.isResult()).map(Documents::forms).toList());
    }
    return document;
  }

  /** True when there is more. */
  private static boolean addOutput(Exchange exchange, Map<String, Object> document, Segment segment)
      throws InterruptedException {
    var reading = new OutputReading(segment);
    byte[] stdout = reading.stdout(0, most(exchange, segment.stdout(), 0));
    byte[] stderr = reading.stderr(0, most(exchange, segment.stderr(), 0));
    document.put("stdout", output(stdout));
    document.put("stderr", output(stderr));
    addUnread(document, reading.unread());
    return stdout.length < segment.stdout().size() || stderr.length < segment.stderr().size();
  }

  static Map<String, Object> forms(Cell.Shown shown) {
    var forms = new LinkedHashMap<String, Object>();
    shown.forms().forEach((type, bytes) -> forms.put(type, output(bytes)));
    return forms;
  }

  // --- files ---

  static void addWritten(Map<String, Object> document, Written written) {
    document.put("files", written.files().stream().map(Documents::file).toList());
    document.put("filesCut", written.isCut());
    written.lost().ifPresent(reason -> document.put("filesLost", reason));
  }

  private static Map<String, Object> file(Written.File file) {
    var document = object("path", file.path(), "sizeBytes", file.size(), "type", file.type());
    switch (file.content()) {
      case Written.Content.NotWanted() -> {}
      case Written.Content.Whole(var bytes) -> document.put("content", output(bytes));
      case Written.Content.Missing(var reason) -> document.put("missing", reason);
    }
    return document;
  }

  // --- output ---

  /** With the beginning of what it wrote. */
  static Map<String, Object> result(Exchange exchange, TenantExec exec)
      throws InterruptedException {
    var document = exec(exec);
    if (addOutput(exchange, document, exec.exec().segment())) {
      document.put("truncated", true);
    }
    return document;
  }

  /** What there is from {@code offset} on, up to a bound, or to a small one if memory is short. */
  static byte[] read(Exchange exchange, OutputLog log, long offset) throws InterruptedException {
    return read(log, offset, most(exchange, log, offset));
  }

  private static int most(Exchange exchange, OutputLog log, long offset)
      throws InterruptedException {
    long length = Math.min(OUTPUT_MOST, Math.max(0, log.size() - offset));
    boolean hasRoom = length <= OUTPUT_LEAST || exchange.hasRoomFor(length);
    return hasRoom ? OUTPUT_MOST : OUTPUT_LEAST;
  }

  static byte[] read(OutputLog log, long offset) {
    return read(log, offset, OUTPUT_LEAST);
  }

  private static byte[] read(OutputLog log, long offset, int most) {
    int length = (int) Math.min(most, Math.max(0, log.size() - offset));
    byte[] bytes = new byte[length];
    int done = log.read(offset, bytes);
    return done == length ? bytes : Arrays.copyOf(bytes, done);
  }

  static Output output(byte[] bytes) {
    return new Output(bytes);
  }
}
