package dev.ebb.client;

import dev.ebb.client.http.ServerSentEvents;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.Closeable;
import java.io.IOException;
import java.util.Locale;
import java.util.Optional;

/** Follows a command. One thread reads; any thread may close, which ends the reading. */
public final class Following implements Closeable {
  private final EventSource source;
  private Offsets offsets;
  private boolean ended;

  Following(EventSource source, Offsets from) {
    this.source = source;
    offsets = from;
  }

  /** Returns where another following can continue. */
  public Offsets offsets() {
    return offsets;
  }

  /** Waits for the next event, without a time limit; empty after the end of the command. */
  public Optional<ExecEvent> next() throws IOException {
    while (!ended) {
      ServerSentEvents.Event event = source.next();
      switch (event.type()) {
        case "start" -> {
          return Optional.of(new ExecEvent.Started(Exec.read(Json.readObject(event.data()))));
        }
        case "stdout", "stderr" -> {
          return Optional.of(wrote(event));
        }
        case "lost" -> {
          return Optional.of(lost(event));
        }
        case "end" -> {
          ended = true;
          source.close();
          JsonObject last = EbbException.unlessProblem(Json.readObject(event.data()));
          return Optional.of(new ExecEvent.Ended(Result.read(last)));
        }
        default -> {}
      }
    }
    return Optional.empty();
  }

  private ExecEvent lost(ServerSentEvents.Event event) throws IOException {
    JsonObject data = Json.readObject(event.data());
    offsets = Offsets.read(event.id());
    OutputStreamName stream =
        OutputStreamName.valueOf(data.string("stream").toUpperCase(Locale.ROOT));
    return new ExecEvent.Lost(
        stream, data.count("offset"), data.count("bytes"), data.string("reason"), offsets);
  }

  private ExecEvent wrote(ServerSentEvents.Event event) throws IOException {
    JsonObject data = Json.readObject(event.data());
    offsets = Offsets.read(event.id());
    OutputStreamName stream = OutputStreamName.valueOf(event.type().toUpperCase(Locale.ROOT));
    return new ExecEvent.Wrote(stream, Output.read(data), offsets);
  }

  @Override
  public void close() throws IOException {
    source.close();
  }
}
