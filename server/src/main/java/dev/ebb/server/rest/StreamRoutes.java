package dev.ebb.server.rest;

import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Stdin;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.answer.ExecState;
import dev.ebb.server.answer.OutputStart;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.http.StdinBody;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Right;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** The input and output of commands: sends, reads and follows them, or connects a terminal. */
final class StreamRoutes {
  private static final int CHUNK = 64 * 1024;
  private static final String BYTES = "application/octet-stream";
  private static final String JSON = "application/json";

  // --- parameters ---

  private static final Parameter<Boolean> CLOSE = Parameter.flag("close", false);
  private static final Parameter<Optional<String>> STREAM =
      Parameter.text("stream").with("enum", List.of("stdout", "stderr")).with("default", "stdout");
  private static final Parameter<Long> OFFSET = Parameter.count("offset", 0, Long.MAX_VALUE);
  private static final Parameter<Long> LIMIT =
      Parameter.count("limit", Long.MAX_VALUE, Long.MAX_VALUE);
  private static final Parameter<Boolean> FOLLOW =
      Parameter.flag("follow", false)
          .described("only with text/event-stream, which follows anyway");
  private static final Parameter<Long> STDOUT_OFFSET =
      Parameter.count("stdoutOffset", 0, Long.MAX_VALUE);
  private static final Parameter<Long> STDERR_OFFSET =
      Parameter.count("stderrOffset", 0, Long.MAX_VALUE);
  private static final Parameter<Optional<String>> LAST_EVENT = Parameter.header("Last-Event-ID");
  private static final Parameter<Boolean> SHOWN =
      Parameter.flag("output", true).described("false: for keys and sizes alone");

  // --- operations ---

  private static final Operation STDIN =
      on("writeStdin", "Write to its stdin").with(CLOSE).takesBytes(BYTES).answers(204, "done");

  private static final Operation OUTPUT =
      on("readOutput", "Read or follow what it writes")
          .with(STREAM, OFFSET, LIMIT, FOLLOW, STDOUT_OFFSET, STDERR_OFFSET, LAST_EVENT)
          .answersBytes(BYTES)
          .answers(200, "done", ExecAnswers.SO_FAR)
          .answersEvents();

  private static final Operation TERMINAL =
      on("openTerminal", "Its terminal, as a WebSocket")
          .with(SHOWN)
          .answers(101, "a WebSocket")
          .needs(Right.USE);

  private static Operation on(String id, String summary) {
    return Operation.of(id, summary)
        .with(BoxRoutes.BOX, ExecRoutes.EXEC)
        .fails(Problem.Code.WRONG_STATE);
  }

  private final BoxRegistry boxes;

  StreamRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    String exec = "/v1/boxes/{box}/execs/{exec}";
    return List.of(
        Route.of("POST", exec + "/stdin", this::stdin, STDIN),
        Route.of("GET", exec + "/output", this::output, OUTPUT),
        Route.of("GET", exec + "/terminal", this::terminal, TERMINAL));
  }

  private void stdin(Exchange exchange) throws IOException, InterruptedException {
    boolean close = exchange.get(CLOSE);
    TenantExec exec = ExecRoutes.exec(exchange, boxes);
    exec.box().use();
    Stdin stdin = exec.view().stdin().orElseThrow(() -> closed(exec));
    byte[] chunk = new byte[CHUNK];
    try (var body = exchange.content(exec);
        InputStream content = body.content()) {
      for (int n = read(body, content, chunk, exec); n >= 0; n = read(body, content, chunk, exec)) {
        if (n > 0 && !stdin.write(chunk, 0, n)) {
          throw closed(exec);
        }
      }
    }
    if (close) {
      exec.exec().input().end();
    }
    exchange.done();
  }

  /**
   * A user who types may pause for longer than the idle timeout of a connection while the command
   * runs. A repeated timeout is final: then there is nothing to wait for.
   */
  private static int read(StdinBody body, InputStream content, byte[] chunk, TenantExec exec)
      throws IOException {
    Throwable last = null;
    while (true) {
      try {
        return content.read(chunk);
      } catch (IOException e) {
        if (!(e.getCause() instanceof TimeoutException timeout) || timeout.equals(last)) {
          throw e;
        }
        if (!exec.isRunning() && !body.mayEndYet()) {
          throw closed(exec);
        }
        last = timeout;
      }
    }
  }

  private static SandboxException closed(TenantExec exec) {
    String why =
        exec.view().isInputCut()
            ? " has lost its input with an earlier daemon"
            : " reads no input, or no longer";
    return new SandboxException(ErrorCode.WRONG_STATE, "exec " + exec.number() + why);
  }

  private void terminal(Exchange exchange) {
    boolean output = exchange.get(SHOWN);
    TenantExec exec = ExecRoutes.exec(exchange, boxes);
    if (!(exec.spec().kind() instanceof ExecKind.Terminal)) {
      throw new SandboxException(
          ErrorCode.WRONG_STATE, "exec " + exec.number() + " has no terminal");
    }
    var keyboard = exec.view().stdin().orElseThrow(() -> closed(exec));
    var socket = new TerminalSocket(exec, keyboard, output);
    try {
      exchange.upgrade(socket);
    } catch (RuntimeException e) {
      socket.giveUp();
      throw e;
    }
  }

  private void output(Exchange exchange) throws IOException, InterruptedException {
    TenantExec exec = ExecRoutes.exec(exchange, boxes);
    exec.read(() -> output(exchange, exec));
  }

  private static void output(Exchange exchange, TenantExec exec)
      throws IOException, InterruptedException {
    String type = exchange.negotiate(BYTES, JSON, EventStream.TYPE);
    if (type.equals(EventStream.TYPE)) {
      follow(exchange, exec);
    } else if (exchange.get(FOLLOW)) {
      // A client that follows raw bytes and disconnects would not be noticed until the next bytes.
      throw new Problem(Problem.Code.BAD_REQUEST, "to follow, accept text/event-stream");
    } else if (type.equals(JSON)) {
      json(exchange, exec, position(exchange));
    } else {
      raw(exchange, exec);
    }
  }

  private static void follow(Exchange exchange, TenantExec exec)
      throws IOException, InterruptedException {
    var from =
        exchange
            .get(LAST_EVENT)
            .map(OutputEvents.Position::parse)
            .orElseGet(() -> position(exchange));
    var events = new OutputEvents(exchange);
    OutputEvents.Position at = events.follow(exec, from);
    events.end(at, ExecAnswers.EXEC.write(ExecState.of(exec).without(events.unread())));
  }

  private static OutputEvents.Position position(Exchange exchange) {
    return new OutputEvents.Position(exchange.get(STDOUT_OFFSET), exchange.get(STDERR_OFFSET));
  }

  private static void json(Exchange exchange, TenantExec exec, OutputEvents.Position from)
      throws IOException, InterruptedException {
    byte[] stdout = OutputStart.read(exchange, exec.view().stdout(), from.stdout());
    byte[] stderr = OutputStart.read(exchange, exec.view().stderr(), from.stderr());
    long stdoutEnd = from.stdout() + stdout.length;
    long stderrEnd = from.stderr() + stderr.length;
    boolean isEnd = exec.view().stdout().isEnd(stdoutEnd) && exec.view().stderr().isEnd(stderrEnd);
    var soFar = new ExecAnswers.SoFar(stdout, stdoutEnd, stderr, stderrEnd, isEnd);
    exchange.answer(200, ExecAnswers.SO_FAR.write(soFar));
  }

  private static void raw(Exchange exchange, TenantExec exec) throws IOException {
    OutputLog log =
        switch (exchange.get(STREAM).orElse("stdout")) {
          case "stdout" -> exec.view().stdout();
          case "stderr" -> exec.view().stderr();
          default ->
              throw new Problem(
                  Problem.Code.BAD_REQUEST, "query \"stream\" must be stdout or stderr");
        };
    long offset = exchange.get(OFFSET);
    long length = Math.min(exchange.get(LIMIT), Math.max(0, log.size() - offset));
    byte[] chunk = new byte[CHUNK];
    // ORDER: unreadable output is refused here; after a status of 200 it could not be.
    int first = log.read(offset, chunk);
    exchange.header("Ebb-Next-Offset", Long.toString(offset + length));
    exchange.header("Content-Length", Long.toString(length));
    try (OutputStream out = exchange.stream(200, BYTES)) {
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
