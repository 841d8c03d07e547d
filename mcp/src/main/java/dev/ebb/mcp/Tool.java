package dev.ebb.mcp;

import dev.ebb.server.http.Fields;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import java.io.IOException;
import java.util.Map;

/**
 * One tool: its description for a model, and its implementation.
 *
 * @param input the schema of its arguments
 * @param output the schema of its structured result
 */
record Tool(
    String name,
    String title,
    String description,
    Map<String, Object> input,
    Map<String, Object> output,
    Hint hint,
    Work work) {

  /** The effect of a tool on existing state. */
  enum Hint {
    /** Only reads. */
    READS(true, false, true),
    /** Adds something. */
    ADDS(false, false, false),
    /** Changes or ends what exists. */
    CHANGES(false, true, false),
    /** Changes or ends what exists; repeating it has no further effect. */
    REPLACES(false, true, true);

    private final boolean readOnly;
    private final boolean destructive;
    private final boolean idempotent;

    Hint(boolean readOnly, boolean destructive, boolean idempotent) {
      this.readOnly = readOnly;
      this.destructive = destructive;
      this.idempotent = idempotent;
    }
  }

  /** The implementation of a tool; failures are thrown, as in REST. */
  interface Work {
    Reply call(Call call, Fields arguments) throws IOException, InterruptedException;
  }

  McpSchema.Tool described() {
    // Boxes are isolated, so no tool acts on an open world.
    var annotations =
        new ToolAnnotations(title, hint.readOnly, hint.destructive, hint.idempotent, false, null);
    return McpSchema.Tool.builder(name, input)
        .title(title)
        .description(description)
        .outputSchema(output)
        .annotations(annotations)
        .build();
  }
}
