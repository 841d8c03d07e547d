package dev.ebb.exec;

import dev.ebb.model.ExecSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** A command as requests see it: a living one, or only its record. */
public sealed interface ExecView permits Exec, EndedExec {
  int number();

  /** Returns the command; after its end, only the beginning of its arguments. */
  ExecSpec spec();

  Instant startedAt();

  /**
   * Returns the pid of the command inside the box, once known; the process may have ended since.
   */
  OptionalInt pid();

  /** Returns its living processes, by host pid. */
  List<Integer> pids();

  /** Returns the current output segment, the only one unless {@link Exec#split} was called. */
  Segment segment();

  default OutputLog stdout() {
    return segment().stdout();
  }

  default OutputLog stderr() {
    return segment().stderr();
  }

  /** Returns the pipe of its stdin; empty unless the command takes input. */
  Optional<Stdin> stdin();

  /** Returns {@link ExecInput#isCut}. */
  boolean isInputCut();

  /**
   * Waits for {@code most} until either stream has unread output; returns false once both are read
   * to the end.
   */
  boolean awaitOutput(long stdoutRead, long stderrRead, Duration most) throws InterruptedException;
}
