package dev.ebb.server.service;

import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Segment;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import java.util.Arrays;

/**
 * Reads the output of a command, and reports unreadable parts instead of failing: the box may be
 * removed meanwhile, or a disk may break. Not thread-safe.
 */
public final class OutputReading {
  private final Segment segment;
  private OutputLoss unread = OutputLoss.NONE;

  public OutputReading(Segment segment) {
    this.segment = segment;
  }

  /** Returns what could not be read. */
  public OutputLoss unread() {
    return unread;
  }

  /** Reads up to {@code most} bytes from {@code offset} on, or less if output is lost. */
  public byte[] stdout(long offset, int most) {
    return read(segment.stdout(), true, offset, most);
  }

  public byte[] stderr(long offset, int most) {
    return read(segment.stderr(), false, offset, most);
  }

  private byte[] read(OutputLog log, boolean isStdout, long offset, int most) {
    byte[] bytes = new byte[(int) Math.min(most, Math.max(0, log.size() - offset))];
    int done = 0;
    try {
      for (int n = 1; n > 0 && done < bytes.length; done += n) {
        byte[] rest = done == 0 ? bytes : new byte[bytes.length - done];
        n = log.read(offset + done, rest);
        System.arraycopy(rest, 0, bytes, done, n);
      }
    } catch (SandboxException e) {
      long lost = log.size() - offset - done;
      int why = errno(e);
      unread = unread.plus(new OutputLoss(isStdout ? lost : 0, isStdout ? 0 : lost, why));
    }
    return done == bytes.length ? bytes : Arrays.copyOf(bytes, done);
  }

  /** Returns the errno that explains why an output could not be read. */
  public static int errno(SandboxException e) {
    int number = e.getCause() instanceof KernelException cause ? cause.errno().number() : 0;
    return number == 0 ? Errno.EIO.number() : number;
  }
}
