package dev.ebb.mcp;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The result of a tool: text for the model, a structured form for programs, and pictures.
 *
 * @param structured matches the tool's output schema
 */
record Reply(String text, Map<String, Object> structured, List<Picture> pictures) {
  /** A complete picture. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Picture(String type, byte[] bytes) {}

  Reply {
    pictures = List.copyOf(pictures);
  }

  Reply(String text, Map<String, Object> structured) {
    this(text, structured, List.of());
  }

  static Map<String, Object> object(Object... pairs) {
    var object = new LinkedHashMap<String, Object>();
    for (int i = 0; i < pairs.length; i += 2) {
      object.put((String) pairs[i], pairs[i + 1]);
    }
    return object;
  }

  CallToolResult result() {
    var result =
        CallToolResult.builder()
            .addTextContent(text)
            .structuredContent((Object) structured)
            .isError(false);
    for (Picture each : pictures) {
      String data = Base64.getEncoder().encodeToString(each.bytes());
      result.addContent(ImageContent.builder(data, each.type()).build());
    }
    return result.build();
  }
}
