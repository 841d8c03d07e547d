package dev.ebb.model;

import dev.ebb.kernel.Errno;

/**
 * Output of a command that could not be stored, or not be read again. The stored part of a stream
 * is its beginning: the lost bytes follow it.
 *
 * @param stdout lost bytes
 * @param stderr lost bytes
 * @param errno the first reason; 0: nothing is lost. With 0 bytes the amount is unknown
 */
public record OutputLoss(long stdout, long stderr, int errno) {
  public static final OutputLoss NONE = new OutputLoss(0, 0, 0);

  public boolean isAny() {
    return errno != 0;
  }

  /** Adds both losses; the first reason wins. */
  public OutputLoss plus(OutputLoss more) {
    return new OutputLoss(stdout + more.stdout, stderr + more.stderr, isAny() ? errno : more.errno);
  }

  /** Returns the kernel's name of the reason. */
  public String reason() {
    return Errno.describe(errno);
  }

  /** Describes the loss in one sentence. */
  public String describe() {
    String bytes =
        stdout + stderr == 0
            ? "an unknown number of bytes"
            : stdout + " bytes of stdout and " + stderr + " of stderr";
    return bytes + " could not be stored: " + reason();
  }
}
