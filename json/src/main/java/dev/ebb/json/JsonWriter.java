package dev.ebb.json;

import java.util.List;
import java.util.Map;

/** Writes one value. */
final class JsonWriter {
  private final boolean indented;
  private final StringBuilder out = new StringBuilder();
  private int depth;

  JsonWriter(boolean indented) {
    this.indented = indented;
  }

  String write(Object value) {
    value(value);
    return out.toString();
  }

  private void value(Object value) {
    if (value instanceof JsonObject object) {
      object(object.members());
    } else if (value instanceof List<?> list) {
      array(list);
    } else if (value instanceof String string) {
      string(string);
    } else if (value instanceof Double number && !Double.isFinite(number)) {
      throw new IllegalArgumentException("JSON has no " + value);
    } else if (value instanceof Number || value instanceof Boolean || value instanceof JsonNull) {
      out.append(value);
    } else {
      throw new IllegalArgumentException("JSON has no " + value.getClass().getName());
    }
  }

  private void object(Map<String, Object> members) {
    out.append('{');
    depth++;
    boolean first = true;
    for (var member : members.entrySet()) {
      separate(first);
      first = false;
      string(member.getKey());
      out.append(indented ? ": " : ":");
      value(member.getValue());
    }
    close('}', first);
  }

  private void array(List<?> values) {
    out.append('[');
    depth++;
    boolean first = true;
    for (Object value : values) {
      separate(first);
      first = false;
      value(value);
    }
    close(']', first);
  }

  private void separate(boolean first) {
    if (!first) {
      out.append(',');
    }
    newLine();
  }

  private void close(char bracket, boolean empty) {
    depth--;
    if (!empty) {
      newLine();
    }
    out.append(bracket);
  }

  private void newLine() {
    if (indented) {
      out.append('\n').append("  ".repeat(depth));
    }
  }

  private void string(String string) {
    int lone = Surrogates.firstLone(string);
    if (lone >= 0) {
      throw new IllegalArgumentException("half a surrogate pair at " + lone + " of a string");
    }
    out.append('"');
    string.codePoints().forEach(this::character);
    out.append('"');
  }

  private void character(int c) {
    switch (c) {
      case '"' -> out.append("\\\"");
      case '\\' -> out.append("\\\\");
      case '\n' -> out.append("\\n");
      case '\r' -> out.append("\\r");
      case '\t' -> out.append("\\t");
      default -> {
        if (c < ' ' || c == 0x7f || Surrogates.isByte(c)) {
          out.append(String.format("\\u%04x", c));
        } else {
          out.appendCodePoint(c);
        }
      }
    }
  }
}
