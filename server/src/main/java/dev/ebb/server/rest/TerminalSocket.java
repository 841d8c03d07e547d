package dev.ebb.server.rest;

import static java.util.Objects.requireNonNull;

import dev.ebb.exec.Stdin;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.answer.ExecState;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Listeners;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.service.OutputReading;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.StatusCode;
import org.jspecify.annotations.Nullable;

/**
 * The terminal of a command over a WebSocket. A client that disconnects leaves the command running,
 * and may connect again.
 */
@SuppressWarnings("exports") // for Jetty, see module-info
public final class TerminalSocket implements Session.Listener {
  private static final Logger LOG = System.getLogger(TerminalSocket.class.getName());
  private static final int CHUNK = 32 * 1024;

  /** The size of an incoming message, of a write, and of shown output. */
  private static final long WEIGHT = 2L * Listeners.BINARY_MOST + 2 * CHUNK;

  private static final Field<Optional<Fields>> RESIZE = Field.object("resize", CommandOrders.SIZE);

  /** A text message. */
  private static final RequestSchema MESSAGE = RequestSchema.inline(RESIZE);

  private final TenantExec exec;
  private final Stdin stdin;
  private final boolean output;
  private final TenantMemory.Claim room;
  private volatile boolean closed;
  private volatile @Nullable Session session;

  /**
   * Makes the socket of one command.
   *
   * @param output false: only keys and sizes
   */
  TerminalSocket(TenantExec exec, Stdin stdin, boolean output) {
    this.exec = exec;
    room = exec.box().claim();
    room.add(WEIGHT);
    this.stdin = stdin;
    this.output = output;
  }

  @Override
  public void onWebSocketOpen(Session opened) {
    session = opened;
    Thread.ofVirtual()
        .name("ebb-terminal-" + exec.box().id() + "-" + exec.number())
        .start(() -> read(opened));
    opened.demand();
  }

  private void read(Session to) {
    try {
      exec.read(() -> sendOutput(to));
    } catch (IOException | InterruptedException | SandboxException e) {
      hangUp(to, e);
    }
  }

  /** Sends the output of the terminal from the beginning, then the end of the command. */
  private void sendOutput(Session to) throws InterruptedException {
    byte[] chunk = new byte[CHUNK];
    long position = 0;
    OutputLoss unread = OutputLoss.NONE;
    try {
      while (output
          && !closed
          && exec.view().awaitOutput(position, Long.MAX_VALUE, EventStream.HEARTBEAT)) {
        int n = 0;
        try {
          n = exec.view().stdout().read(position, chunk);
        } catch (SandboxException e) {
          // It may have been removed; the last message says how much is missing.
          long end = exec.view().stdout().size();
          unread = unread.plus(new OutputLoss(end - position, 0, OutputReading.errno(e)));
          position = end;
        }
        send(to, Arrays.copyOf(chunk, n));
        position += n;
      }
      while (!closed && exec.await(EventStream.HEARTBEAT).isEmpty()) {
        send(callback -> to.sendPing(ByteBuffer.allocate(0), callback));
      }
      var document = ExecAnswers.EXEC.write(ExecState.of(exec).without(unread));
      String last = new String(Exchange.json(document), StandardCharsets.UTF_8);
      send(callback -> to.sendText(last, callback));
      send(callback -> to.close(StatusCode.NORMAL, "it has ended", callback));
    } catch (CompletionException e) {
      hangUp(to, e);
    }
  }

  private static void hangUp(Session on, Exception why) {
    LOG.log(Level.DEBUG, "event=terminal_hung_up", why);
    on.disconnect();
  }

  /** Sends a ping, so that a disconnected caller is noticed. */
  private static void send(Session to, byte[] bytes) {
    send(
        callback -> {
          if (bytes.length > 0) {
            to.sendBinary(ByteBuffer.wrap(bytes), callback);
          } else {
            to.sendPing(ByteBuffer.allocate(0), callback);
          }
        });
  }

  private interface Sending {
    void start(Callback callback);
  }

  private static void send(Sending sending) {
    var done = new CompletableFuture<Void>();
    sending.start(
        new Callback() {
          @Override
          public void succeed() {
            done.complete(null);
          }

          @Override
          public void fail(Throwable failure) {
            done.completeExceptionally(failure);
          }
        });
    done.join();
  }

  /** A command that does not read delays only its own caller. */
  @Override
  public void onWebSocketBinary(ByteBuffer payload, Callback callback) {
    byte[] bytes = new byte[payload.remaining()];
    payload.get(bytes);
    callback.succeed();
    try {
      exec.box().use();
      stdin.write(bytes, 0, bytes.length);
      session().demand();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void onWebSocketText(String message) {
    try {
      Fields fields = Fields.parse(message.getBytes(StandardCharsets.UTF_8)).as(MESSAGE);
      fields.get(RESIZE).ifPresent(this::resize);
      fields.end();
      session().demand();
    } catch (Problem | SandboxException e) {
      session().close(StatusCode.BAD_DATA, String.valueOf(e.getMessage()), Callback.NOOP);
    }
  }

  /** Closes it, whether it has begun or not. */
  void giveUp() {
    closed = true;
    room.close();
  }

  private Session session() {
    return requireNonNull(session);
  }

  private void resize(Fields size) {
    CommandOrders.Size wanted = CommandOrders.size(size);
    exec.exec().resize(wanted.rows(), wanted.columns());
  }

  @Override
  public void onWebSocketClose(int status, String reason, Callback callback) {
    giveUp();
    callback.succeed();
  }

  @Override
  public void onWebSocketError(Throwable cause) {
    giveUp();
    LOG.log(Level.DEBUG, "event=terminal_broken", cause);
  }
}
