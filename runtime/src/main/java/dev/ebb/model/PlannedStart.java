package dev.ebb.model;

import java.util.Optional;

/**
 * The command that runs first in a box that is taken from the pool.
 *
 * @param command starts at once; empty if the caller does not know it yet, or does something else
 *     first
 * @param file is in the workspace before the command starts, if init can write it itself
 */
public record PlannedStart(Optional<ExecSpec> command, Optional<FirstFile> file) {
  /** The caller does not know yet what runs first. */
  public static final PlannedStart UNKNOWN = new PlannedStart(Optional.empty(), Optional.empty());

  /** A command that needs no file. */
  public static PlannedStart of(ExecSpec command) {
    return new PlannedStart(Optional.of(command), Optional.empty());
  }
}
