package dev.ebb.mcp;

import io.modelcontextprotocol.spec.McpSchema;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Input that is no valid message, or not allowed here; answered as a JSON-RPC error. */
final class Refused extends Exception {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final int code;
  private final transient @Nullable Object id;

  /**
   * Makes a refusal.
   *
   * @param status of HTTP
   * @param code of JSON-RPC
   * @param id the id of the message, if it has one
   */
  Refused(int status, int code, @Nullable Object id, String message) {
    super(message, null, false, false);
    this.status = status;
    this.code = code;
    this.id = id;
  }

  int status() {
    return status;
  }

  /** Not a JSONRPCResponse: an error for an unknown request has a null id. */
  Map<String, @Nullable Object> document() {
    var document = new LinkedHashMap<String, @Nullable Object>();
    document.put("jsonrpc", McpSchema.JSONRPC_VERSION);
    document.put("id", id);
    document.put("error", Map.of("code", code, "message", String.valueOf(getMessage())));
    return document;
  }
}
