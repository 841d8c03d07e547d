package dev.ebb.mcp;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Sends each message by the thread that the SDK calls it with, and holds nothing to close. */
abstract class MessageTransport implements McpStreamableServerTransport {
  final McpJsonMapper json;

  MessageTransport(McpJsonMapper json) {
    this.json = json;
  }

  abstract void send(JSONRPCMessage message);

  @Override
  public final Mono<Void> sendMessage(JSONRPCMessage message, @Nullable String id) {
    return Mono.fromRunnable(() -> send(message));
  }

  @Override
  public final Mono<Void> sendMessage(JSONRPCMessage message) {
    return sendMessage(message, null);
  }

  @Override
  public final <T> T unmarshalFrom(Object data, TypeRef<T> type) {
    return json.convertValue(data, type);
  }

  @Override
  public final Mono<Void> closeGracefully() {
    return Mono.empty();
  }
}
