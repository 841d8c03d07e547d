package dev.ebb.mcp;

import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpStreamableServerTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The answer to one request: plain JSON if it is all there is to say, and soon; else events. For
 * the thread of its request alone, but anyone may silence it.
 */
final class Answer implements McpStreamableServerTransport {
  private final Exchange exchange;
  private final McpJsonMapper json;
  private @Nullable EventStream events;
  private @Nullable IOException failure;
  private volatile boolean isSilent;
  private Runnable beforeLast = () -> {};

  Answer(Exchange exchange, McpJsonMapper json) {
    this.exchange = exchange;
    this.json = json;
  }

  /** Does this right before the last word, after which the caller may go on. */
  void beforeLast(Runnable work) {
    beforeLast = work;
  }

  /** Shows that we are there, and finds out whether the caller is. */
  void beat() throws IOException {
    requireHeard();
    try {
      events().beat();
    } catch (IOException e) {
      failure = e;
      throw e;
    }
  }

  /** Fails if an earlier word did not get through. */
  void requireHeard() throws IOException {
    if (failure != null) {
      throw failure;
    }
  }

  /** Says no more: whoever cancels a request wants no answer. */
  void silence() {
    isSilent = true;
  }

  /** What was begun is ended; what was not is a stream without an event. */
  void end() throws IOException {
    requireHeard();
    if (!exchange.isAnswered()) {
      events();
    }
  }

  private EventStream events() throws IOException {
    if (events == null) {
      events = new EventStream(exchange);
    }
    return events;
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
    if (failure != null || isSilent) {
      return;
    }
    try {
      byte[] bytes = json.writeValueAsBytes(message);
      if (message instanceof JSONRPCResponse) {
        beforeLast.run();
      }
      if (events == null && message instanceof JSONRPCResponse) {
        exchange.answer(200, StreamableHttp.JSON, bytes);
      } else {
        events().message(bytes);
      }
    } catch (IOException e) {
      failure = e;
      throw new UncheckedIOException(e);
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
