package dev.ebb.server.rest;

import dev.ebb.box.SandboxException;
import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Section;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.OutputLoss;
import java.util.Arrays;

/**
 * One reader of what a command wrote, who is told what cannot be read any more instead of failing:
 * the box may be removed meanwhile, or a disk may break. Not thread-safe.
 */
final class OutputReading {
  private final Section section;
  private OutputLoss unread = OutputLoss.NONE;

  OutputReading(Section section) {
    this.section = section;
  }

  /** What was there, and could not be read. */
  OutputLoss unread() {
    return unread;
  }

  /** What there is from {@code offset} on, up to {@code most} bytes, or less if it is lost. */
  byte[] stdout(long offset, int most) {
    return read(section.stdout(), true, offset, most);
  }

  byte[] stderr(long offset, int most) {
    return read(section.stderr(), false, offset, most);
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

  static int errno(SandboxException e) {
    int number = e.getCause() instanceof KernelException cause ? cause.errno().number() : 0;
    return number == 0 ? Errno.EIO.number() : number;
  }
}
