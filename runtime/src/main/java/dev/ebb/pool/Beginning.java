package dev.ebb.pool;

import dev.ebb.backend.FirstFile;
import dev.ebb.exec.ExecSpec;
import java.util.Optional;

/**
 * What a box is taken for.
 *
 * @param command what is to run in it at once; empty: not known, or more comes first
 * @param file what its workspace is to hold then, if that is possible without a process
 */
public record Beginning(Optional<ExecSpec> command, Optional<FirstFile> file) {
  /** Nothing that is known yet. */
  public static final Beginning UNKNOWN = new Beginning(Optional.empty(), Optional.empty());

  /** With a command that needs no file. */
  public static Beginning of(ExecSpec command) {
    return new Beginning(Optional.of(command), Optional.empty());
  }
}
