package dev.ebb.cli.mcp;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.McpSession;
import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonNull;
import dev.ebb.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Carries messages between two pipes and a session of the daemon, one a line. The session is tied
 * to a stream of ours: when this process ends, for any reason, the daemon ends it with all it made.
 */
final class McpBridge {
  /** The longest message, which is also the limit of the daemon. */
  private static final int LINE_MOST = 16 << 20;

  private static final int INVALID = -32600;
  private static final int UNREACHABLE = -32000;
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  private final Caller caller;
  private final McpSession session;
  private final InputStream in;
  private final Object turn = new Object();

  @GuardedBy("turn")
  private final OutputStream out;

  /** The client wants no more. */
  private volatile boolean isOver;

  /** Requests whose answer is to come; and ourselves. */
  private final Phaser pending = new Phaser(1);

  McpBridge(Caller caller, McpSession session) {
    this.caller = caller;
    this.session = session;
    this.in = new BufferedInputStream(caller.in());
    out = caller.rawOut();
  }

  /** Passes messages on until the client closes our stdin. */
  int run() throws IOException {
    for (String line = line(); line != null; line = line()) {
      if (!line.isBlank()) {
        take(line);
      }
    }
    isOver = true;
    session.end();
    return 0;
  }

  // --- what comes ---

  /** Returns the next line, or null at the end; answers lines that are too long with an error. */
  @SuppressWarnings("NullAway") // a line or none, as readers have it
  private String line() throws IOException {
    var line = new ByteArrayOutputStream();
    boolean isTooLong = false;
    for (int b = in.read(); b >= 0; b = in.read()) {
      if (b != '\n') {
        isTooLong = isTooLong || line.size() == LINE_MOST;
        if (!isTooLong) {
          line.write(b);
        }
      } else if (isTooLong) {
        write(error(JsonNull.NULL, INVALID, "a message of more than " + LINE_MOST + " bytes"));
        line.reset();
        isTooLong = false;
      } else {
        return line.toString(StandardCharsets.UTF_8);
      }
    }
    return null;
  }

  /** ORDER: notifications go one by one, and after the begin of the session. */
  private void take(String line) {
    Object id = JsonNull.NULL;
    String method = "";
    try {
      JsonObject message = Json.readObject(line);
      method = message.has("method") ? message.string("method") : "";
      id = message.members().getOrDefault("id", JsonNull.NULL);
    } catch (JsonException e) {
      // The daemon reports the error in it.
    }
    Object request = id;
    if (method.equals("initialize")) {
      send(line, request);
      if (session.isBegun()) {
        Thread.ofVirtual().name("ebb-mcp-listener").start(this::listen);
      }
    } else if (method.isEmpty() || request.equals(JsonNull.NULL)) {
      send(line, request);
    } else {
      sendAside(line, request);
    }
  }

  private void sendAside(String line, Object request) {
    pending.register();
    Thread.ofVirtual()
        .name("ebb-mcp-request")
        .start(
            () -> {
              try {
                send(line, request);
              } finally {
                pending.arriveAndDeregister();
              }
            });
  }

  private void send(String line, Object id) {
    try {
      session.send(line, this::write);
    } catch (IOException e) {
      write(error(id, UNREACHABLE, DaemonFailure.words(e)));
    }
  }

  /** Without the daemon there is nothing left to do for the client but to see our end. */
  private void listen() {
    String reason = "the daemon has ended the session";
    try {
      session.listen(this::write);
    } catch (IOException e) {
      reason = DaemonFailure.words(e);
    }
    if (isOver) {
      return;
    }
    awaitLastWords();
    caller.err().println("ebb: " + reason);
    // The reader of our stdin may be parked in a read for ever.
    caller.leave(ExitCode.OWN_FAILURE);
  }

  private void awaitLastWords() {
    try {
      int phase = pending.arrive();
      pending.awaitAdvanceInterruptibly(phase, LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException | TimeoutException e) {
      // The answers are late; the end of our stdout tells the client.
    }
  }

  // --- what goes ---

  private static String error(Object id, int code, String message) {
    return Json.write(
        JsonObject.empty()
            .with("jsonrpc", "2.0")
            .with("id", id)
            .with("error", JsonObject.empty().with("code", code).with("message", message)));
  }

  private void write(String message) {
    byte[] bytes = (message + "\n").getBytes(StandardCharsets.UTF_8);
    synchronized (turn) {
      try {
        out.write(bytes);
        out.flush();
      } catch (IOException e) {
        // A client that reads no more is gone, and the session goes with us.
        caller.leave(ExitCode.OWN_FAILURE);
      }
    }
  }
}
