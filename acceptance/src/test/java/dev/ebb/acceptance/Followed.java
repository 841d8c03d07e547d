package dev.ebb.acceptance;

import dev.ebb.client.ExecEvent;
import dev.ebb.client.Following;
import dev.ebb.client.OutputStreamName;
import dev.ebb.client.Result;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The events that a reader of a command has received. */
final class Followed {
  private final ByteArrayOutputStream stdout = new ByteArrayOutputStream();
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();
  private @Nullable Result end;
  private int events;
  private long lost;

  /** Reads to the end, and closes it. */
  static Followed all(Following following) throws IOException {
    return some(following, Integer.MAX_VALUE);
  }

  /** Reads so many events at most, and closes it. */
  static Followed some(Following following, int most) throws IOException {
    var seen = new Followed();
    try (following) {
      while (seen.events < most && seen.take(following.next())) {
        seen.events++;
      }
    }
    return seen;
  }

  private boolean take(Optional<ExecEvent> event) throws IOException {
    if (event.isEmpty()) {
      return false;
    }
    switch (event.get()) {
      case ExecEvent.Started _ -> {}
      case ExecEvent.Wrote(var stream, var output, _) ->
          (stream == OutputStreamName.STDOUT ? stdout : stderr).write(output.bytes());
      case ExecEvent.Lost(_, _, var bytes, _, _) -> lost += bytes;
      case ExecEvent.Ended(var result) -> end = result;
    }
    return true;
  }

  /** Bytes that were reported as lost. */
  long lost() {
    return lost;
  }

  byte[] stdout() {
    return stdout.toByteArray();
  }

  byte[] stderr() {
    return stderr.toByteArray();
  }

  Optional<Result> end() {
    return Optional.ofNullable(end);
  }

  int events() {
    return events;
  }
}
