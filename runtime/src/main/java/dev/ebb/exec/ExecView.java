package dev.ebb.exec;

import dev.ebb.model.ExecSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** What can be asked of a command, whether it is there or only on record. */
public sealed interface ExecView permits Exec, EndedExec {
  int number();

  /** Of a command that has ended, only the beginning of its words. */
  ExecSpec spec();

  Instant startedAt();

  /** The command's pid inside the box, once it is known; it may have ended since. */
  OptionalInt pid();

  /** Its living processes, by their host pids. */
  List<Integer> pids();

  /** The segment that the command writes now; the only one unless {@link Exec#split} was called. */
  Segment segment();

  default OutputLog stdout() {
    return segment().stdout();
  }

  default OutputLog stderr() {
    return segment().stderr();
  }

  /** Empty unless the command takes input. */
  Optional<Stdin> stdin();

  /** See {@link ExecInput#isCut}. */
  boolean isInputCut();

  /**
   * Waits for {@code most} until either stream has more than was read; false once both are read to
   * their end.
   */
  boolean awaitOutput(long stdoutRead, long stderrRead, Duration most) throws InterruptedException;
}
