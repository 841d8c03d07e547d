package dev.ebb.server.rest;

import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Stdin;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Patience;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.CommandTask;
import dev.ebb.server.service.ExecSignal;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.RunService.Place;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Policy;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/** Commands: started, waited for, read, written to, killed. */
final class ExecRoutes {
  private static final Duration RUN_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration LONG = Duration.ofDays(3650);

  private static final int CHUNK = 64 * 1024;

  private final BoxRegistry boxes;
  private final RunService runs;
  private final Policy policy;

  ExecRoutes(BoxRegistry boxes, RunService runs, Policy policy) {
    this.boxes = boxes;
    this.runs = runs;
    this.policy = policy;
  }

  List<Route> routes() {
    String exec = "/v1/boxes/{box}/execs/{exec}";
    return List.of(
        Route.of("POST", "/v1/boxes/{box}/execs", this::start, "wait", "detach"),
        Route.of("GET", "/v1/boxes/{box}/execs", this::list),
        Route.ending("POST", "/v1/boxes/{box}/kill-all", this::killAll, "graceMillis", "wait"),
        Route.of("GET", exec, this::get),
        Route.of("GET", exec + "/wait", this::await, "timeoutMillis"),
        Route.ending("POST", exec + "/kill", this::kill, "signal", "graceMillis", "wait"),
        Route.of("POST", exec + "/stdin", this::stdin, "close"),
        Route.of(
            "GET",
            exec + "/output",
            this::output,
            "stream",
            "offset",
            "limit",
            "follow",
            "stdoutOffset",
            "stderrOffset"),
        Route.of("GET", exec + "/terminal", this::terminal, "output"),
        Route.of("POST", "/v1/run", this::run, "detach"));
  }

  private TenantBox box(Exchange exchange) {
    return exchange.about(boxes.find(exchange.caller(), exchange.path("box")));
  }

  private TenantExec exec(Exchange exchange) {
    TenantBox box = box(exchange);
    try {
      return box.exec(Integer.parseInt(exchange.path("exec")));
    } catch (NumberFormatException e) {
      throw new Problem(
          Problem.Code.NOT_FOUND, "an exec is a number, not \"" + exchange.path("exec") + "\"");
    }
  }

  private void list(Exchange exchange) throws IOException {
    var execs = box(exchange).execs().stream().map(Documents::exec).toList();
    exchange.answer(200, Documents.object("execs", execs));
  }

  private void get(Exchange exchange) throws IOException {
    exchange.answer(200, Documents.exec(exec(exchange)));
  }

  // --- start ---

  private void start(Exchange exchange) throws IOException, InterruptedException {
    boolean wait = exchange.flag("wait", false);
    boolean detach = exchange.flag("detach", false);
    CommandTask command = Orders.command(exchange.fields(), Duration.ZERO, policy.caps());
    permit(exchange, command);
    WaitingResponse answer = WaitingResponse.to(exchange).leaving(detach);
    if (wait) {
      TenantExec exec = runs.run(box(exchange), command, answer);
      answer.end(Documents.result(exchange, exec));
    } else {
      TenantExec exec = runs.start(box(exchange), command, answer);
      exchange.answer(201, Documents.exec(exec));
    }
  }

  private static void permit(Exchange exchange, CommandTask command) {
    if (command.spec().operator() && !exchange.caller().isAdmin()) {
      throw new Problem(Problem.Code.FORBIDDEN, "\"operator\" needs an admin key");
    }
  }

  private void run(Exchange exchange) throws IOException, InterruptedException {
    boolean detach = exchange.flag("detach", false);
    Fields fields = exchange.fields();
    Orders.Ordered ordered =
        Orders.box(fields.object("box").orElseGet(Fields::none), policy.caps());
    CommandTask command =
        Orders.command(
            fields.object("exec").orElseGet(Fields::none),
            detach ? Duration.ZERO : RUN_TIMEOUT,
            policy.caps());
    boolean certificate = fields.flag("certificate", true);
    fields.end();
    if (ordered.order().detached() && !detach) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"box.detached\": a box that goes with its caller cannot be");
    }
    permit(exchange, command);
    policy.check(exchange.caller(), ordered.order().spec());
    WaitingResponse answer = WaitingResponse.to(exchange);
    if (detach) {
      var place = new Place(ordered.order().forOneCommand(), ordered.files(), false);
      runs.startAlone(
          exchange.caller(),
          place,
          command,
          answer,
          exec -> _ -> exchange.answer(201, Documents.exec(exec)));
    } else {
      var place = new Place(ordered.order(), ordered.files(), certificate);
      runs.runAlone(
          exchange.caller(),
          place,
          command,
          answer,
          exec -> answer.ending(runResult(exchange, exec)));
    }
  }

  private static Map<String, Object> runResult(Exchange exchange, TenantExec exec)
      throws InterruptedException {
    return exchange.accepts("text/event-stream")
        ? Documents.exec(exec)
        : Documents.result(exchange, exec);
  }

  // --- end ---

  private void await(Exchange exchange) throws IOException, InterruptedException {
    Duration patience = exchange.millis("timeoutMillis", LONG);
    TenantExec exec = exec(exchange);
    Patience left = Patience.of(patience);
    boolean isLong = EventStream.HEARTBEAT.compareTo(patience) < 0;
    if (exec.awaitSurely(isLong ? EventStream.HEARTBEAT : patience).isPresent() || left.isOver()) {
      exchange.answer(200, Documents.exec(exec));
      return;
    }
    try (OutputStream out = exchange.stream(200, "application/json")) {
      do {
        out.write('\n');
        out.flush();
      } while (exec.awaitSurely(EventStream.HEARTBEAT).isEmpty() && !left.isOver());
      out.write(Exchange.json(Documents.exec(exec)));
    }
  }

  private void kill(Exchange exchange) throws IOException, InterruptedException {
    String signal = exchange.query("signal").orElse("TERM");
    Duration grace = policy.caps().grace(exchange.millis("graceMillis", ExecSpec.DEFAULT_GRACE));
    boolean wait = exchange.flag("wait", true);
    TenantExec exec = exec(exchange);
    ExecSignal known =
        ExecSignal.of(signal)
            .orElseThrow(
                () -> new Problem(Problem.Code.BAD_REQUEST, "unknown signal \"" + signal + "\""));
    known.send(exec, grace);
    if (wait && known.isEnding()) {
      exec.awaitSurely(grace.plus(WaitingResponse.LADDER_SLACK));
    }
    exchange.answer(200, Documents.exec(exec));
  }

  private void killAll(Exchange exchange) throws IOException, InterruptedException {
    Duration grace = policy.caps().grace(exchange.millis("graceMillis", ExecSpec.DEFAULT_GRACE));
    boolean wait = exchange.flag("wait", true);
    var killed = box(exchange).killAll(grace);
    if (wait) {
      for (TenantExec exec : killed) {
        exec.awaitSurely(grace.plus(WaitingResponse.LADDER_SLACK));
      }
    }
    exchange.answer(200, Documents.object("execs", killed.stream().map(Documents::exec).toList()));
  }

  // --- input and output ---

  private void stdin(Exchange exchange) throws IOException, InterruptedException {
    boolean close = exchange.flag("close", false);
    TenantExec exec = exec(exchange);
    exec.box().use();
    Stdin stdin = exec.exec().stdin().orElseThrow(() -> closed(exec));
    byte[] chunk = new byte[CHUNK];
    try (var body = exchange.content(exec);
        InputStream content = body.content()) {
      for (int n = read(content, chunk, exec); n >= 0; n = read(content, chunk, exec)) {
        if (n > 0 && !stdin.write(chunk, 0, n)) {
          throw closed(exec);
        }
      }
    }
    if (close) {
      stdin.close();
    }
    exchange.done();
  }

  /**
   * Whoever types may pause for longer than a connection may be idle, while the command runs. A
   * timeout that comes again is the last one: then there is no more to wait for.
   */
  private static int read(InputStream content, byte[] chunk, TenantExec exec) throws IOException {
    Throwable last = null;
    while (true) {
      try {
        return content.read(chunk);
      } catch (IOException e) {
        if (!(e.getCause() instanceof TimeoutException timeout) || timeout.equals(last)) {
          throw e;
        }
        if (!exec.isRunning()) {
          throw closed(exec);
        }
        last = timeout;
      }
    }
  }

  private static SandboxException closed(TenantExec exec) {
    return new SandboxException(
        ErrorCode.WRONG_STATE, "exec " + exec.number() + " reads no input, or no longer");
  }

  private void terminal(Exchange exchange) {
    boolean output = exchange.flag("output", true);
    TenantExec exec = exec(exchange);
    if (!(exec.spec().kind() instanceof ExecKind.Terminal)) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "exec " + exec.number() + " has no terminal");
    }
    var keyboard = exec.exec().stdin().orElseThrow(() -> closed(exec));
    var socket = new TerminalSocket(exec, keyboard, output);
    try {
      exchange.upgrade(socket);
    } catch (RuntimeException e) {
      socket.giveUp();
      throw e;
    }
  }

  private void output(Exchange exchange) throws IOException, InterruptedException {
    TenantExec exec = exec(exchange);
    exec.read(() -> output(exchange, exec));
  }

  private static void output(Exchange exchange, TenantExec exec)
      throws IOException, InterruptedException {
    if (exchange.accepts("text/event-stream")) {
      var from =
          exchange
              .header("Last-Event-ID")
              .map(OutputEvents.Position::parse)
              .orElseGet(() -> position(exchange));
      var events = new OutputEvents(exchange);
      events.end(events.follow(exec, from), Documents.exec(exec));
    } else if (exchange.flag("follow", false)) {
      // Whoever follows raw bytes and goes away could not be noticed until the next of them.
      throw new Problem(Problem.Code.BAD_REQUEST, "to follow, accept text/event-stream");
    } else if (exchange.accepts("application/json")) {
      json(exchange, exec, position(exchange));
    } else {
      raw(exchange, exec);
    }
  }

  private static OutputEvents.Position position(Exchange exchange) {
    return new OutputEvents.Position(
        exchange.number("stdoutOffset", 0, Long.MAX_VALUE),
        exchange.number("stderrOffset", 0, Long.MAX_VALUE));
  }

  private static void json(Exchange exchange, TenantExec exec, OutputEvents.Position from)
      throws IOException, InterruptedException {
    byte[] stdout = Documents.read(exchange, exec.exec().stdout(), from.stdout());
    byte[] stderr = Documents.read(exchange, exec.exec().stderr(), from.stderr());
    long stdoutEnd = from.stdout() + stdout.length;
    long stderrEnd = from.stderr() + stderr.length;
    exchange.answer(
        200,
        Documents.object(
            "stdout",
            Documents.output(stdout),
            "stdoutOffset",
            stdoutEnd,
            "stderr",
            Documents.output(stderr),
            "stderrOffset",
            stderrEnd,
            "ended",
            exec.exec().stdout().isEnd(stdoutEnd) && exec.exec().stderr().isEnd(stderrEnd)));
  }

  private static void raw(Exchange exchange, TenantExec exec) throws IOException {
    OutputLog log =
        switch (exchange.query("stream").orElse("stdout")) {
          case "stdout" -> exec.exec().stdout();
          case "stderr" -> exec.exec().stderr();
          default ->
              throw new Problem(
                  Problem.Code.BAD_REQUEST, "query \"stream\" must be stdout or stderr");
        };
    long offset = exchange.number("offset", 0, Long.MAX_VALUE);
    long length =
        Math.min(
            exchange.number("limit", Long.MAX_VALUE, Long.MAX_VALUE),
            Math.max(0, log.size() - offset));
    byte[] chunk = new byte[CHUNK];
    // ORDER: what cannot be read is refused, which cannot be said any more once it is 200.
    int first = log.read(offset, chunk);
    exchange.header("Ebb-Next-Offset", Long.toString(offset + length));
    exchange.header("Content-Length", Long.toString(length));
    try (OutputStream out = exchange.stream(200, "application/octet-stream")) {
      int n = first;
      for (long done = 0; done < length; n = log.read(offset + done, chunk)) {
        int some = (int) Math.min(n, length - done);
        if (some <= 0) {
          throw new IOException("the log ends too early");
        }
        out.write(chunk, 0, some);
        done += some;
      }
    }
  }
}
