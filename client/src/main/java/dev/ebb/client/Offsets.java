package dev.ebb.client;

import dev.ebb.json.JsonException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How much of each stream was read. */
public record Offsets(long stdout, long stderr) {
  public static final Offsets START = new Offsets(0, 0);
  private static final Pattern FORM = Pattern.compile("(\\d{1,18}):(\\d{1,18})");

  static Offsets read(String id) throws JsonException {
    Matcher matcher = FORM.matcher(id);
    if (!matcher.matches()) {
      throw Documents.bad("event id \"" + id + "\" is not two offsets");
    }
    return new Offsets(Long.parseLong(matcher.group(1)), Long.parseLong(matcher.group(2)));
  }

  @Override
  public String toString() {
    return stdout + ":" + stderr;
  }
}
