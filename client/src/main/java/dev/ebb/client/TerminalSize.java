package dev.ebb.client;

import dev.ebb.json.JsonObject;

/** Rows and columns of a terminal. */
public record TerminalSize(int rows, int columns) {
  JsonObject document() {
    return JsonObject.empty()
        .with("rows", Long.valueOf(rows))
        .with("columns", Long.valueOf(columns));
  }
}
