package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.util.List;

/**
 * What a command left running: how many processes were killed, and which are kept until the box
 * ends.
 */
public record Leftovers(long killed, List<Kept> kept) {
  /** A process that was kept. */
  public record Kept(long pid, String command) {
    static Kept read(JsonObject document) throws JsonException {
      return new Kept(document.number("pid"), document.string("command"));
    }
  }

  static Leftovers read(JsonObject document) throws JsonException {
    return new Leftovers(
        document.count("killed"), Documents.list(document.objects("kept"), Kept::read));
  }
}
