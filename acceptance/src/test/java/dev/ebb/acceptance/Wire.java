package dev.ebb.acceptance;

import dev.ebb.testkit.TestHost;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A raw connection, for requests that no client would send. */
final class Wire implements Closeable {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));
  private static final int HEAD_MOST = 1 << 20;

  private final Socket socket;
  private final String authority;

  private Wire(Socket socket, String authority) {
    this.socket = socket;
    this.authority = authority;
  }

  /**
   * The answer.
   *
   * @param status 0 when the connection ended without one
   */
  record Answer(int status, String head, String body) {
    boolean isRefusal() {
      return status >= 400 && status < 500;
    }
  }

  static Wire to(URI uri) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), uri.getPort());
    socket.setTcpNoDelay(true);
    socket.setSoTimeout((int) PATIENCE.toMillis());
    return new Wire(socket, uri.getAuthority());
  }

  static Wire over(Socket socket, URI uri) throws IOException {
    socket.setSoTimeout((int) PATIENCE.toMillis());
    return new Wire(socket, uri.getAuthority());
  }

  /** A request on a connection of its own; each header is a line. */
  static Answer ask(URI uri, String method, String target, String body, String... headers)
      throws IOException {
    return ask(uri, method, target, body.getBytes(StandardCharsets.UTF_8), headers);
  }

  static Answer ask(URI uri, String method, String target, byte[] body, String... headers)
      throws IOException {
    try (Wire wire = to(uri)) {
      return wire.ask(method, target, body, headers);
    }
  }

  Answer ask(String method, String target, byte[] body, String... headers) throws IOException {
    var head = new StringBuilder(method).append(' ').append(target).append(" HTTP/1.1\r\n");
    boolean ownHost = false;
    boolean framed = false;
    for (String header : headers) {
      head.append(header).append("\r\n");
      ownHost |= header.startsWith("Host:");
      framed |= header.startsWith("Transfer-Encoding:") || header.startsWith("Content-Length:");
    }
    head.append(ownHost ? "" : "Host: " + authority + "\r\n");
    head.append(framed ? "" : "Content-Length: " + body.length + "\r\n");
    write(head.append("Connection: close\r\n\r\n").toString());
    write(body);
    return answer();
  }

  void write(String text) {
    write(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Bytes that the daemon does not take are lost: it may have answered already. */
  boolean write(byte[] bytes) {
    try {
      socket.getOutputStream().write(bytes);
      socket.getOutputStream().flush();
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  /** All that comes before the connection ends. */
  Answer answer() throws SocketTimeoutException {
    var bytes = new ByteArrayOutputStream();
    try {
      byte[] piece = new byte[8 * 1024];
      for (int n = in(piece); n >= 0 && bytes.size() < HEAD_MOST; n = in(piece)) {
        bytes.write(piece, 0, n);
      }
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException e) {
      // A server that refuses a request without reading it resets the connection.
    }
    return parse(bytes.toString(StandardCharsets.UTF_8));
  }

  /** Reads until the input contains {@code word}; returns it. */
  String until(String word) throws IOException {
    var bytes = new ByteArrayOutputStream();
    byte[] piece = new byte[8 * 1024];
    while (!bytes.toString(StandardCharsets.UTF_8).contains(word)) {
      int n = in(piece);
      if (n < 0) {
        throw new EOFException("ended before " + word + ": " + bytes);
      }
      bytes.write(piece, 0, n);
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private int in(byte[] piece) throws IOException {
    return socket.getInputStream().read(piece);
  }

  private static Answer parse(String text) {
    if (!text.startsWith("HTTP/1.1 ")) {
      return new Answer(0, text, "");
    }
    int end = text.indexOf("\r\n\r\n");
    int status = Integer.parseInt(text.substring(9, 12));
    return end < 0
        ? new Answer(status, text, "")
        : new Answer(status, text.substring(0, end), text.substring(end + 4));
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
