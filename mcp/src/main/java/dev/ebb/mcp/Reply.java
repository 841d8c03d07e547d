package dev.ebb.mcp;

import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a tool found: text for a model, the same for a program, and pictures.
 *
 * @param structured as the tool's output schema has it
 */
record Reply(String text, Map<String, Object> structured, List<Picture> pictures) {
  /** A picture, whole. */
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
