package dev.ebb.client.http;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Reads a stream of events one by one. Not thread-safe, but any thread may close it. */
public final class ServerSentEvents implements Closeable {
  static final int MAX_EVENT = 16 * 1024 * 1024;

  private final InputStream source;
  private final InputStream in;
  private String id = "";
  private boolean carriage;

  /**
   * One event.
   *
   * @param id the last one given so far; empty before the first
   */
  public record Event(String type, String id, String data) {}

  public ServerSentEvents(InputStream source) {
    this.source = source;
    this.in = new BufferedInputStream(source);
  }

  /** Waits for the next event, without a time limit; empty at the end of the stream. */
  public Optional<Event> next() throws IOException {
    String type = "message";
    StringBuilder data = null;
    while (true) {
      Optional<String> read = line(MAX_EVENT - (data == null ? 0 : data.length()));
      if (read.isEmpty()) {
        return Optional.empty();
      }
      String line = read.get();
      if (line.isEmpty()) {
        if (data != null) {
          return Optional.of(new Event(type, id, data.toString()));
        }
        type = "message";
        continue;
      }
      String value = value(line);
      switch (name(line)) {
        case "event" -> type = value;
        case "id" -> id = value;
        case "data" ->
            data = data == null ? new StringBuilder(value) : data.append('\n').append(value);
        default -> {}
      }
    }
  }

  private static String name(String line) {
    int colon = line.indexOf(':');
    return colon < 0 ? line : line.substring(0, colon);
  }

  private static String value(String line) {
    int colon = line.indexOf(':');
    if (colon < 0) {
      return "";
    }
    return line.substring(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
  }

  /** Reads up to a line feed, a carriage return, or both; drops an unfinished line at the end. */
  private Optional<String> line(int limit) throws IOException {
    var bytes = new ByteArrayOutputStream();
    while (true) {
      int b = in.read();
      boolean afterCarriage = carriage;
      carriage = b == '\r';
      if (b < 0) {
        return Optional.empty();
      }
      if (b == '\n' && afterCarriage) {
        continue;
      }
      if (b == '\n' || b == '\r') {
        return Optional.of(bytes.toString(StandardCharsets.UTF_8));
      }
      if (bytes.size() >= limit) {
        throw new ProtocolException("an event of more than " + MAX_EVENT + " bytes");
      }
      bytes.write(b);
    }
  }

  /** Closes the source first, for a read in it may hold the buffer's lock. */
  @Override
  public void close() throws IOException {
    source.close();
  }
}
