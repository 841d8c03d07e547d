package dev.ebb.model;

import java.time.Duration;
import java.util.List;

/**
 * How a command ended and what it used.
 *
 * @param stdoutSize how many bytes of it are stored
 * @param truncated whether output above the limit was discarded
 * @param loss output that could not be stored
 * @param leftovers processes that it left running; alive only if they were to be kept
 */
public record ExecResult(
    ExitCause cause,
    long stdoutSize,
    long stderrSize,
    boolean truncated,
    OutputLoss loss,
    CgroupUsage usage,
    Leftovers leftovers,
    Duration wall) {

  /** Processes that outlived the command: how many, and which of them were kept. */
  public record Leftovers(int count, List<Kept> kept) {
    public Leftovers {
      kept = List.copyOf(kept);
    }
  }

  /** A process left alive on request, by its host pid. */
  public record Kept(int pid, String command) {}
}
