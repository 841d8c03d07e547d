package dev.ebb.mcp;

import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one request: plain JSON if one message is all and comes soon, otherwise a stream of
 * events. Used by the thread of the request only, except that any thread may silence it.
 */
final class Answer extends MessageTransport {
  private final Exchange exchange;
  private @Nullable EventStream events;
  private @Nullable IOException failure;
  private volatile boolean isSilent;
  private Runnable beforeLast = () -> {};

  Answer(Exchange exchange, McpJsonMapper json) {
    super(json);
    this.exchange = exchange;
  }

  /**
   * Sets the work to do right before the last message, after which the caller may reuse the
   * request's id.
   */
  void beforeLast(Runnable work) {
    beforeLast = work;
  }

  /** Sends a heartbeat, which detects whether the caller is still connected. */
  void beat() throws IOException {
    requireSent();
    try {
      events().beat();
    } catch (IOException e) {
      failure = e;
      throw e;
    }
  }

  /** Fails if an earlier message could not be sent. */
  void requireSent() throws IOException {
    if (failure != null) {
      throw failure;
    }
  }

  /** Sends nothing from now on: a client that cancels a request wants no answer. */
  void silence() {
    isSilent = true;
  }

  /** Ends an answer that has begun; otherwise sends a stream without an event. */
  void end() throws IOException {
    requireSent();
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
  void send(JSONRPCMessage message) {
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
}
