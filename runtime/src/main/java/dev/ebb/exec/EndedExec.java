package dev.ebb.exec;

import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The record of a command that has ended. Nothing in it leads to the command or to its box.
 *
 * @param result empty: it could not be started
 * @param refusal why it could not be started
 * @param segment its output, as far as it still exists
 */
public record EndedExec(
    int number,
    ExecSpec spec,
    Instant startedAt,
    Instant endedAt,
    OptionalInt pid,
    Optional<ExecResult> result,
    Optional<SandboxException> refusal,
    boolean isInputCut,
    Segment segment)
    implements ExecView {
  private static final String RECORD = "record";
  private static final String END = "end";
  private static final String ENDED_AT = "ended-at";
  private static final String PID = "pid";
  private static final String CODE = "refusal-code";
  private static final String MESSAGE = "refusal";

  /** Makes the record of a command with this end. */
  public static EndedExec of(
      Exec exec, Instant at, Optional<ExecResult> result, Optional<SandboxException> refusal) {
    return new EndedExec(
        exec.number(),
        exec.spec().ended(),
        exec.startedAt(),
        at,
        exec.pid(),
        result,
        refusal,
        exec.isInputCut(),
        exec.segment());
  }

  /** Returns it as an entry of a journal, without the output. */
  public JournalEntry entry() {
    var input = isInputCut ? ExecInput.State.CUT : ExecInput.State.WHOLE;
    var started = new ExecRecord(number, spec, startedAt, 0, input, Optional.empty());
    JournalEntry entry =
        JournalEntry.about("exec")
            .withEntry(RECORD, started.entry())
            .with(ENDED_AT, endedAt.toEpochMilli());
    entry = pid.isPresent() ? entry.with(PID, pid.getAsInt()) : entry;
    entry =
        result.isPresent() ? entry.withEntry(END, ExecRecord.ended(number, result.get())) : entry;
    return refusal.isPresent()
        ? entry
            .with(CODE, refusal.get().code().name())
            .with(MESSAGE, String.valueOf(refusal.get().getMessage()))
        : entry;
  }

  /**
   * Parses an {@link #entry}.
   *
   * @param logs the directory of its output, which may be gone
   */
  public static EndedExec parse(JournalEntry entry, LogDirectory logs) throws IOException {
    var entries = new ArrayList<>(entry.entries(RECORD));
    entries.addAll(entry.entries(END));
    List<ExecRecord> found = ExecRecord.of(entries);
    if (found.isEmpty()) {
      throw new IOException("the record of an exec is empty");
    }
    ExecRecord record = found.getFirst();
    return new EndedExec(
        record.number(),
        record.spec(),
        record.startedAt(),
        Instant.ofEpochMilli(entry.number(ENDED_AT)),
        entry.find(PID).isPresent() ? OptionalInt.of(entry.integer(PID)) : OptionalInt.empty(),
        record.end(),
        refusal(entry),
        record.input() == ExecInput.State.CUT,
        segment(record, logs));
  }

  private static Optional<SandboxException> refusal(JournalEntry entry) {
    return entry
        .find(MESSAGE)
        .map(message -> new SandboxException(code(entry.find(CODE).orElse("")), message));
  }

  private static ErrorCode code(String name) {
    try {
      return ErrorCode.valueOf(name);
    } catch (IllegalArgumentException e) {
      // A newer version may have more causes.
      return ErrorCode.INTERNAL;
    }
  }

  private static Segment segment(ExecRecord record, LogDirectory logs) {
    var lock = new OrderedLock(LockOrder.EXEC);
    var segment = new Segment(logs, record.number(), 0, lock, lock.newCondition());
    segment.expectFiles();
    Optional<ExecResult> end = record.end();
    segment.end(
        end.map(ExecResult::stdoutSize).orElse(0L),
        end.map(ExecResult::stderrSize).orElse(0L),
        end.map(ExecResult::truncated).orElse(false),
        end.map(ExecResult::loss).orElse(OutputLoss.NONE));
    return segment;
  }

  /** Returns none: its processes ended with its box. */
  @Override
  public List<Integer> pids() {
    return List.of();
  }

  @Override
  public Optional<Stdin> stdin() {
    return Optional.empty();
  }

  @Override
  public boolean awaitOutput(long stdoutRead, long stderrRead, Duration most) {
    return !segment.isEnd(stdoutRead, stderrRead);
  }
}
