package dev.ebb.server.service.access;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import dev.ebb.model.SandboxException;
import java.time.Duration;

/**
 * The most that any caller may ask for, admins included. A request that sets no value gets the
 * default, or the cap if that is less.
 *
 * @param output of a command, stdout and stderr together
 * @param timeout of a command, and of its grace; zero: any
 * @param ttl of a box; zero: any
 */
public record Caps(
    ByteSize memory,
    int pids,
    double cpus,
    ByteSize disk,
    ByteSize output,
    int openFiles,
    ByteSize fileSize,
    Duration timeout,
    Duration ttl) {
  public static final ByteSize ANY_SIZE = new ByteSize(Long.MAX_VALUE);
  public static final int ANY_PIDS = 1 << 22;
  public static final double ANY_CPUS = 4096;
  public static final int ANY_FILES = 1 << 20;
  public static final Caps NONE =
      new Caps(
          ANY_SIZE,
          ANY_PIDS,
          ANY_CPUS,
          ANY_SIZE,
          ANY_SIZE,
          ANY_FILES,
          ANY_SIZE,
          Duration.ZERO,
          Duration.ZERO);

  private static final int LEAST_FILES = 3;

  /** Returns the wanted grace, or the cap if that is less. */
  public Duration grace(Duration wanted) {
    return timeout.isZero() || wanted.compareTo(timeout) <= 0 ? wanted : timeout;
  }

  /** Returns a command with defaults filled in and values reduced to the caps. */
  public ExecSpec cap(ExecSpec spec) {
    return spec.withOutputLimit(least(ExecSpec.DEFAULT_OUTPUT_LIMIT, output))
        .withOpenFiles(Math.min(ExecSpec.DEFAULT_OPEN_FILES, openFiles))
        .withFileSize(least(ExecSpec.DEFAULT_FILE_SIZE, fileSize))
        .withGrace(grace(ExecSpec.DEFAULT_GRACE));
  }

  private static ByteSize least(ByteSize one, ByteSize other) {
    return one.bytes() <= other.bytes() ? one : other;
  }

  /** Refuses values that no box could have. */
  public Caps {
    var _ = new Limits(memory, pids, cpus, disk, Limits.defaults().temporary());
    if (openFiles < LEAST_FILES) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST, "open files must be at least " + LEAST_FILES);
    }
  }
}
