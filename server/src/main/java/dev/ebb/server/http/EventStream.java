package dev.ebb.server.http;

import dev.ebb.server.service.RunClient;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * Server-sent events. A message or heartbeat goes out at least once a second, which detects a
 * caller that has disconnected.
 */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public final class EventStream {
  public static final String TYPE = "text/event-stream";

  public static final Duration HEARTBEAT = RunClient.HEARTBEAT;

  private final OutputStream out;

  public EventStream(Exchange exchange) throws IOException {
    out = exchange.stream(200, TYPE);
    out.flush();
  }

  public void send(String event, String id, Object data) throws IOException {
    String head = "event: " + event + "\nid: " + id + "\ndata: ";
    out.write(head.getBytes(StandardCharsets.UTF_8));
    JsonOutput.write(data, out);
    out.write("\n\n".getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  /** Sends one message that is JSON already. */
  public void message(byte[] json) throws IOException {
    out.write("event: message\ndata: ".getBytes(StandardCharsets.UTF_8));
    out.write(json);
    out.write("\n\n".getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  public void beat() throws IOException {
    out.write(":\n\n".getBytes(StandardCharsets.UTF_8));
    out.flush();
  }
}
