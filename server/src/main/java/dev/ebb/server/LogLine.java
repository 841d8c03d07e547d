package dev.ebb.server;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/**
 * One line for each log record: the time, the level, the event, and {@code key=value} of all
 * others; or one JSON object. No value breaks the line: control characters are escaped, and the
 * stack of an exception is folded into its value.
 */
final class LogLine extends Formatter {
  private static final String EVENT = "event=";
  private static final int TRACE_MOST = 16 * 1024;

  /** The form of the lines. */
  enum Form {
    TEXT,
    JSON
  }

  private final Form form;

  LogLine(Form form) {
    this.form = form;
  }

  @Override
  public String format(LogRecord record) {
    Map<String, String> fields =
        fields(formatMessage(record), String.valueOf(record.getLoggerName()));
    Throwable thrown = record.getThrown();
    if (thrown != null) {
      fields.put("error", thrown.toString());
      fields.put("trace", trace(thrown));
    }
    return line(record.getInstant(), level(record.getLevel()), fields);
  }

  /** Returns the line about output that was dropped before it was written. */
  String dropped(long writes) {
    var fields = fields("event=output_dropped reason=\"not read in time\"", "");
    fields.put("writes", Long.toString(writes));
    return line(Instant.now(), "WARNING", fields);
  }

  private String line(Instant at, String level, Map<String, String> fields) {
    String time = at.truncatedTo(ChronoUnit.MILLIS).toString();
    return (form == Form.JSON ? json(time, level, fields) : text(time, level, fields)) + "\n";
  }

  private static String json(String time, String level, Map<String, String> fields) {
    JsonObject line = JsonObject.empty().with("time", time).with("level", level);
    for (var field : fields.entrySet()) {
      line = line.with(field.getKey(), plain(field.getValue()));
    }
    return Json.write(line);
  }

  private static String text(String time, String level, Map<String, String> fields) {
    var line = new StringBuilder(time).append(' ').append(level);
    fields.forEach((key, value) -> line.append(' ').append(key).append('=').append(quoted(value)));
    return line.toString();
  }

  private static String quoted(String value) {
    boolean isBare =
        !value.isEmpty()
            && value.chars().allMatch(c -> c > ' ' && c < 127 && c != '"' && c != '\\');
    return isBare ? value : Json.write(plain(value));
  }

  /** Replaces what is no character of a line. */
  private static String plain(String value) {
    var plain = new StringBuilder(value.length());
    value
        .codePoints()
        .map(c -> (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ? '?' : c)
        .map(c -> Character.getType(c) == Character.SURROGATE ? '?' : c)
        .forEach(plain::appendCodePoint);
    return plain.toString();
  }

  private static String level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return "ERROR";
    }
    if (value >= Level.WARNING.intValue()) {
      return "WARNING";
    }
    if (value >= Level.INFO.intValue()) {
      return "INFO";
    }
    return value >= Level.FINE.intValue() ? "DEBUG" : "TRACE";
  }

  private static String trace(Throwable thrown) {
    var text = new StringWriter();
    thrown.printStackTrace(new PrintWriter(text));
    String folded = text.toString().strip().replaceAll("\\s*\\R\\s*", " | ");
    return folded.substring(0, Math.min(folded.length(), TRACE_MOST));
  }

  // --- the message ---

  /** Splits a message {@code event=NAME key=value …}; any other is the value of one key. */
  private static Map<String, String> fields(String message, String logger) {
    var fields = new LinkedHashMap<String, String>();
    if (!message.startsWith(EVENT)) {
      fields.put("event", "log");
      fields.put("logger", logger);
      fields.put("message", message);
      return fields;
    }
    int end = EVENT.length();
    while (end < message.length() && isName(message.charAt(end))) {
      end++;
    }
    fields.put("event", message.substring(EVENT.length(), end));
    int at = nextKey(message, end);
    String note = message.substring(end, at).replaceFirst("^[\\s,]+", "").strip();
    if (!note.isEmpty()) {
      fields.put("note", note);
    }
    while (at < message.length()) {
      at = field(message, at, fields);
    }
    return fields;
  }

  /** Reads the field that begins here; returns where the next one does. */
  private static int field(String message, int at, Map<String, String> fields) {
    int equals = message.indexOf('=', at);
    String key = message.substring(at, equals);
    int begin = equals + 1;
    int quote = begin < message.length() && message.charAt(begin) == '"' ? begin : -1;
    int close = quote < 0 ? -1 : closing(message, quote);
    boolean isQuoted =
        close > 0 && (close + 1 == message.length() || message.charAt(close + 1) == ' ');
    int next = nextKey(message, isQuoted ? close + 1 : begin);
    String value =
        isQuoted ? message.substring(quote + 1, close) : message.substring(begin, next).strip();
    // A value may not name the event of its line.
    fields.merge(key, value, (first, _) -> first);
    return next;
  }

  private static int closing(String message, int quote) {
    return message.indexOf('"', quote + 1);
  }

  /** Returns where the next {@code key=} begins, after a space; or the end. */
  private static int nextKey(String message, int from) {
    for (int space = message.indexOf(' ', from);
        space >= 0;
        space = message.indexOf(' ', space + 1)) {
      int end = space + 1;
      while (end < message.length() && isName(message.charAt(end))) {
        end++;
      }
      if (end > space + 1 && end < message.length() && message.charAt(end) == '=') {
        return space + 1;
      }
    }
    return message.length();
  }

  private static boolean isName(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }
}
