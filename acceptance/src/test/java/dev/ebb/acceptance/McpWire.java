package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/** MCP over HTTP by hand, with the key of a tenant. */
record McpWire(URI uri, String key) {
  static final String ACCEPT = "Accept: application/json, text/event-stream";
  static final String INITIALIZE =
      """
      {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
      "capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}"""
          .replace("\n", "");

  static String run(String command) {
    return "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"tools/call\",\"params\":{\"name\":"
        + "\"run_command\",\"arguments\":{\"command\":\""
        + command
        + "\"}}}";
  }

  Wire.Answer post(String session, String body) throws IOException {
    return Wire.ask(
        uri,
        "POST",
        "/mcp",
        body,
        ACCEPT,
        "Authorization: Bearer " + key,
        session.isEmpty() ? "X-None: 1" : "Mcp-Session-Id: " + session);
  }

  /** Sends a message on a connection, without waiting for the answer. */
  void send(Wire call, String session, String body) {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    call.write(
        String.join(
            "\r\n",
            "POST /mcp HTTP/1.1",
            "Host: " + uri.getAuthority(),
            ACCEPT,
            "Authorization: Bearer " + key,
            "Mcp-Session-Id: " + session,
            "Content-Length: " + bytes.length,
            "",
            ""));
    call.write(bytes);
  }

  /** The id of a session that begins. */
  String begin() throws IOException {
    var answer = post("", INITIALIZE);
    assertThat(answer.status()).as(answer.body()).isEqualTo(200);
    return answer
        .head()
        .lines()
        .filter(line -> line.startsWith("Mcp-Session-Id: "))
        .map(line -> line.substring(16).strip())
        .findFirst()
        .orElseThrow();
  }

  int end(String session) throws IOException {
    return Wire.ask(
            uri, "DELETE", "/mcp", "", "Authorization: Bearer " + key, "Mcp-Session-Id: " + session)
        .status();
  }
}
