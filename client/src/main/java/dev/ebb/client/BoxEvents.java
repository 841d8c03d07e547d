package dev.ebb.client;

import dev.ebb.client.http.Target;
import dev.ebb.json.Json;
import java.io.Closeable;
import java.io.IOException;

/**
 * The events of boxes; reconnects by itself after a broken connection. One thread reads; any thread
 * may close, which ends the reading.
 */
public final class BoxEvents implements Closeable {
  private final EventSource source;

  BoxEvents(Calls calls, String after) throws IOException {
    Target target = Target.of("v1", "events");
    source =
        EventSource.resuming(
            id -> calls.events(Calls.get(id.isEmpty() ? target : target.with("after", id))), after);
  }

  /** Waits for the next event, without a time limit. */
  public BoxEvent next() throws IOException {
    var event = source.next();
    return BoxEvent.read(event.id(), event.type(), Json.readObject(event.data()));
  }

  @Override
  public void close() throws IOException {
    source.close();
  }
}
