package dev.ebb.server;

import dev.ebb.json.Json;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Locale;

/** A client of this daemon in the daemon itself: one connection, one request at a time. */
final class OwnClient implements AutoCloseable {
  private static final String LENGTH = "content-length:";
  private static final String ENCODING = "transfer-encoding:";

  private final SocketChannel channel;
  private final InputStream input;

  private OwnClient(SocketChannel channel) {
    this.channel = channel;
    input = new BufferedInputStream(Channels.newInputStream(channel));
  }

  static OwnClient connect(Path socket) throws IOException {
    return new OwnClient(SocketChannel.open(UnixDomainSocketAddress.of(socket)));
  }

  /** Sends a request without a body; returns the answer, empty if it has none. */
  JsonObject call(String method, String path) throws IOException {
    return call(method, path, "");
  }

  /** Sends a request; returns the answer, and throws what is not a success. */
  JsonObject call(String method, String path, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head =
        String.join(
            "\r\n",
            method + " " + path + " HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Content-Length: " + bytes.length,
            "",
            "");
    send((head + body).getBytes(StandardCharsets.UTF_8));
    int status = Integer.parseInt(line().split(" ")[1]);
    String answer = new String(body(), StandardCharsets.UTF_8);
    if (status >= 300) {
      throw new IOException(method + " " + path + ": " + status + " " + answer);
    }
    try {
      return answer.startsWith("{") ? Json.readObject(answer) : JsonObject.empty();
    } catch (JsonException e) {
      throw new IOException(e);
    }
  }

  private void send(byte[] bytes) throws IOException {
    for (var left = ByteBuffer.wrap(bytes); left.hasRemaining(); ) {
      channel.write(left);
    }
  }

  /** Reads the rest of the head of an answer, and its body. */
  private byte[] body() throws IOException {
    int length = 0;
    boolean isChunked = false;
    for (String field = line(); !field.isEmpty(); field = line()) {
      String lower = field.toLowerCase(Locale.ROOT);
      if (lower.startsWith(LENGTH)) {
        length = Integer.parseInt(field.substring(LENGTH.length()).strip());
      }
      isChunked |= lower.startsWith(ENCODING) && lower.endsWith("chunked");
    }
    return isChunked ? chunks() : input.readNBytes(length);
  }

  private byte[] chunks() throws IOException {
    var body = new ByteArrayOutputStream();
    for (int size = chunk(); size > 0; size = chunk()) {
      body.write(input.readNBytes(size));
      line();
    }
    line();
    return body.toByteArray();
  }

  private int chunk() throws IOException {
    return Integer.parseInt(line(), 16);
  }

  private String line() throws IOException {
    var line = new ByteArrayOutputStream();
    for (int next = input.read(); next != '\n'; next = input.read()) {
      if (next < 0) {
        throw new EOFException("the connection was closed");
      }
      line.write(next);
    }
    return line.toString(StandardCharsets.ISO_8859_1).strip();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
