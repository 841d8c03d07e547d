package dev.ebb.client.http;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;

/**
 * The opening handshake: a key, and the answer that only a WebSocket server can compute from it.
 */
final class WebSocketHandshake {
  private static final String MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

  private final String key;

  WebSocketHandshake() {
    byte[] random = new byte[16];
    new SecureRandom().nextBytes(random);
    key = Base64.getEncoder().encodeToString(random);
  }

  Request ask(Request request) {
    return request
        .with("Connection", "Upgrade")
        .with("Upgrade", "websocket")
        .with("Sec-WebSocket-Version", "13")
        .with("Sec-WebSocket-Key", key);
  }

  void check(Connection connection, Headers headers) throws IOException {
    boolean ours =
        headers.lists("Upgrade", "websocket")
            && headers.lists("Connection", "upgrade")
            && headers.first("Sec-WebSocket-Accept").orElse("").equals(accept(key))
            && headers.first("Sec-WebSocket-Extensions").isEmpty();
    if (!ours) {
      throw connection.malformed("a bad WebSocket handshake");
    }
  }

  static String accept(String key) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-1")
              .digest((key + MAGIC).getBytes(StandardCharsets.US_ASCII));
      return Base64.getEncoder().encodeToString(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every JDK has SHA-1", e);
    }
  }
}
