package dev.ebb.mcp;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.server.http.DoorLock;
import dev.ebb.server.http.EventStream;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The stream on which a client receives messages that answer no request. Thread-safe. */
final class Listening implements McpStreamableServerTransport {
  private final McpJsonMapper json;
  private final Lock lock = DoorLock.STREAM.make();

  @GuardedBy("lock")
  private final EventStream events;

  Listening(EventStream events, McpJsonMapper json) {
    this.events = events;
    this.json = json;
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
  public Mono<Void> sendMessage(JSONRPCMessage message, @Nullable String id) {
    return Mono.fromRunnable(() -> send(message));
  }

  @Override
  public Mono<Void> sendMessage(JSONRPCMessage message) {
    return sendMessage(message, null);
  }

  private void send(JSONRPCMessage message) {
    lock.lock();
    try {
      events.message(json.writeValueAsBytes(message));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
    return json.convertValue(data, type);
  }

  @Override
  public Mono<Void> closeGracefully() {
    return Mono.empty();
  }
}
