package dev.ebb.server.rest;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Writes a document of maps, lists, strings, numbers and booleans. A name that is not UTF-8 has
 * halves of surrogate pairs, see BoxText: they are escaped, which UTF-8 could not hold.
 */
final class JsonOutput {
  private final StringBuilder out = new StringBuilder();

  private JsonOutput() {}

  static byte[] write(Object document) {
    var output = new JsonOutput();
    output.value(document);
    return output.out.toString().getBytes(StandardCharsets.UTF_8);
  }

  private void value(Object value) {
    switch (value) {
      case Map<?, ?> map -> object(map);
      case List<?> list -> array(list);
      case Number number -> out.append(number);
      case Boolean truth -> out.append(truth);
      case String text -> string(text);
      default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
    }
  }

  private void object(Map<?, ?> map) {
    char before = '{';
    for (var entry : map.entrySet()) {
      out.append(before);
      string((String) entry.getKey());
      out.append(':');
      value(entry.getValue());
      before = ',';
    }
    out.append(map.isEmpty() ? "{}" : "}");
  }

  private void array(List<?> list) {
    char before = '[';
    for (Object each : list) {
      out.append(before);
      value(each);
      before = ',';
    }
    out.append(list.isEmpty() ? "[]" : "]");
  }

  private void string(String text) {
    out.append('"');
    text.codePoints().forEach(this::character);
    out.append('"');
  }

  private void character(int point) {
    boolean isHalf = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE;
    switch (point) {
      case '"' -> out.append("\\\"");
      case '\\' -> out.append("\\\\");
      case '\n' -> out.append("\\n");
      case '\r' -> out.append("\\r");
      case '\t' -> out.append("\\t");
      default -> {
        if (point < ' ' || point == 0x7f || isHalf) {
          out.append("\\u").append(Integer.toHexString(0x10000 | point), 1, 5);
        } else {
          out.appendCodePoint(point);
        }
      }
    }
  }
}
