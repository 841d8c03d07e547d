package dev.ebb.mcp;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.server.http.DoorLock;
import dev.ebb.server.http.EventStream;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.locks.Lock;

/** The stream on which a client receives messages that answer no request. Thread-safe. */
final class Listening extends MessageTransport {
  private final Lock lock = DoorLock.STREAM.make();

  @GuardedBy("lock")
  private final EventStream events;

  Listening(EventStream events, McpJsonMapper json) {
    super(json);
    this.events = events;
  }

  void beat() throws IOException {
    lock.lock();
    try {
      events.beat();
    } finally {
      lock.unlock();
    }
  }

  /** Pings the client, without the SDK, which would start a thread to wait for the answer. */
  void ping(String id) throws IOException {
    var request =
        new JSONRPCRequest(McpSchema.JSONRPC_VERSION, McpSchema.METHOD_PING, id, Map.of());
    lock.lock();
    try {
      events.message(json.writeValueAsBytes(request));
    } finally {
      lock.unlock();
    }
  }

  @Override
  void send(JSONRPCMessage message) {
    lock.lock();
    try {
      events.message(json.writeValueAsBytes(message));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      lock.unlock();
    }
  }
}
