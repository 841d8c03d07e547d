package dev.ebb.client;

import dev.ebb.client.http.ServerSentEvents;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.Closeable;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/** Follows a cell. One thread reads; any thread may close, which interrupts the cell. */
public final class CellFollowing implements Closeable {
  private final EventSource source;
  private boolean ended;

  CellFollowing(EventSource source) {
    this.source = source;
  }

  /** Waits for the next event, without a time limit; empty after the end of the cell. */
  public Optional<CellEvent> next() throws IOException {
    while (!ended) {
      ServerSentEvents.Event event = source.next();
      JsonObject data = Json.readObject(event.data());
      switch (event.type()) {
        case "start" -> {
          return Optional.of(new CellEvent.Ordered(data.number("number")));
        }
        case "stdout", "stderr" -> {
          var stream = OutputStreamName.valueOf(event.type().toUpperCase(Locale.ROOT));
          return Optional.of(new CellEvent.Wrote(stream, Output.read(data)));
        }
        case "display", "result" -> {
          boolean isResult = event.type().equals("result");
          return Optional.of(new CellEvent.Showed(isResult, CellResult.forms(data)));
        }
        case "end" -> {
          ended = true;
          source.close();
          return Optional.of(new CellEvent.Ended(CellResult.read(data)));
        }
        default -> {}
      }
    }
    return Optional.empty();
  }

  @Override
  public void close() throws IOException {
    source.close();
  }
}
