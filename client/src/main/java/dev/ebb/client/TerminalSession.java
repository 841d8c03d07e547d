package dev.ebb.client;

import dev.ebb.client.http.WebSocket;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The terminal of a command. One thread reads; any thread may write, resize or close. */
public final class TerminalSession implements Closeable {
  private static final int PIECE = 32 * 1024;

  private final WebSocket socket;
  private @Nullable Exec ended;

  TerminalSession(WebSocket socket) {
    this.socket = socket;
  }

  /** Waits for the next output; empty when the command or the session has ended. */
  public Optional<Output> read() throws IOException {
    while (ended == null) {
      Optional<WebSocket.Message> message = socket.receive();
      if (message.isEmpty()) {
        return Optional.empty();
      }
      if (!message.get().isText()) {
        return Optional.of(Output.of(message.get().bytes()));
      }
      ended = Exec.read(Json.readObject(message.get().text()));
    }
    return Optional.empty();
  }

  /** Returns the command, if its end is what ended the reading. */
  public Optional<Exec> ended() {
    return Optional.ofNullable(ended);
  }

  /** Types the bytes, in messages short enough for any server. */
  public void write(byte[] bytes) throws IOException {
    for (int at = 0; at < bytes.length; at += PIECE) {
      socket.send(Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + PIECE)));
    }
  }

  public void resize(TerminalSize size) throws IOException {
    JsonObject message = JsonObject.empty().with("resize", size.document());
    socket.send(Json.write(message));
  }

  @Override
  public void close() {
    socket.close();
  }
}
