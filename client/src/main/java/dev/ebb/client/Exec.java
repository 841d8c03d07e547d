package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command as the daemon described it.
 *
 * @param box the id of its box
 * @param number its number in the box
 * @param state running or ended
 * @param status how it ended, as a wire name
 * @param exitCode as a shell reports it
 * @param truncated the output exceeded its limit, or the capacity of this answer
 * @param lost output that could not be stored, if any
 * @param inputCut an earlier daemon ended before the caller ended the input
 * @param document all that the daemon sent, also fields that this client does not know
 */
public record Exec(
    String box,
    long number,
    List<String> command,
    String state,
    @Nullable String status,
    @Nullable Integer exitCode,
    @Nullable Cause cause,
    Instant startedAt,
    @Nullable Instant endedAt,
    @Nullable Duration duration,
    long stdoutBytes,
    long stderrBytes,
    boolean truncated,
    @Nullable Lost lost,
    boolean inputCut,
    List<Long> pids,
    @Nullable Leftovers leftovers,
    @Nullable Usage usage,
    JsonObject document) {

  static Exec read(JsonObject document) throws JsonException {
    return new Exec(
        document.string("box"),
        document.number("number"),
        document.strings("command"),
        document.string("state"),
        document.stringOrNull("status"),
        document.integerOrNull("exitCode"),
        Documents.orNull(document.objectOrNull("cause"), Cause::read),
        document.instant("startedAt"),
        document.instantOrNull("endedAt"),
        document.millisOrNull("durationMillis"),
        document.count("stdoutBytes"),
        document.count("stderrBytes"),
        document.isTrue("truncated"),
        Documents.orNull(document.objectOrNull("lost"), Lost::read),
        document.isTrue("inputCut"),
        document.numbers("pids"),
        Documents.orNull(document.objectOrNull("leftovers"), Leftovers::read),
        Documents.orNull(document.objectOrNull("usage"), Usage::read),
        document);
  }

  public boolean hasEnded() {
    return state.equals("ended");
  }
}
