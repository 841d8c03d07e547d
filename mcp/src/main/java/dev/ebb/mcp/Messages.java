package dev.ebb.mcp;

import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.jackson3.JacksonMcpJsonMapper;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.json.JsonMapper;

/** Parses JSON-RPC messages within bounds. Thread-safe. */
final class Messages {
  private static final int MOST_OF_ID = 256;

  /** The SDK keeps the client's description of itself as long as the session lasts. */
  private static final int MOST_OF_INITIALIZE = 64 * 1024;

  /** SAFETY: a token of two bytes takes some twenty bytes of memory. */
  private static final long MOST_TOKENS = 200_000;

  private final McpJsonMapper json = new JacksonMcpJsonMapper(mapper());

  private static JsonMapper mapper() {
    var bounds = StreamReadConstraints.builder().maxTokenCount(MOST_TOKENS).build();
    return JsonMapper.builder(JsonFactory.builder().streamReadConstraints(bounds).build()).build();
  }

  McpJsonMapper json() {
    return json;
  }

  JSONRPCMessage parse(byte[] body) throws Refused {
    String text = new String(body, StandardCharsets.UTF_8);
    if (text.stripLeading().startsWith("[")) {
      throw new Refused(
          400, ErrorCodes.INVALID_REQUEST, null, "batches are not taken: send one message a time");
    }
    JSONRPCMessage message = deserialize(text);
    if (message instanceof JSONRPCRequest request) {
      requireBounds(request, body.length);
    }
    return message;
  }

  private JSONRPCMessage deserialize(String text) throws Refused {
    try {
      return McpSchema.deserializeJsonRpcMessage(json, text);
    } catch (IOException | RuntimeException e) {
      throw new Refused(
          400,
          ErrorCodes.PARSE_ERROR,
          null,
          "this is no message of JSON-RPC 2.0, as JSON in UTF-8");
    }
  }

  private static void requireBounds(JSONRPCRequest request, int length) throws Refused {
    if (!isId(request.id())) {
      throw new Refused(
          400,
          ErrorCodes.INVALID_REQUEST,
          null,
          "the id of a request is a number, or a string of up to " + MOST_OF_ID + " characters");
    }
    if (request.method().equals(McpSchema.METHOD_INITIALIZE) && length > MOST_OF_INITIALIZE) {
      throw new Refused(
          413,
          ErrorCodes.INVALID_REQUEST,
          request.id(),
          "initialize is longer than " + MOST_OF_INITIALIZE + " bytes");
    }
  }

  /** The id is kept while the request is handled, and longer if the request is cancelled. */
  static boolean isId(@Nullable Object id) {
    return id instanceof Number || (id instanceof String text && text.length() <= MOST_OF_ID);
  }
}
