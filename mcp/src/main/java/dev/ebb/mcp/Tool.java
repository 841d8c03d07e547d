package dev.ebb.mcp;

import dev.ebb.server.http.Fields;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.ToolAnnotations;
import java.io.IOException;
import java.util.Map;

/**
 * One tool: what a model reads of it, and what it does.
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

  /** What it does to whatever is there. */
  enum Hint {
    /** Looks only. */
    READS(true, false, true),
    /** Adds something. */
    ADDS(false, false, false),
    /** May change or end what is there. */
    CHANGES(false, true, false),
    /** The same, and doing it twice is doing it once. */
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

  /** What it does; what goes wrong is thrown, as it is by REST. */
  interface Work {
    Reply call(Call call, Fields arguments) throws IOException, InterruptedException;
  }

  McpSchema.Tool described() {
    // Boxes are a world of their own.
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
