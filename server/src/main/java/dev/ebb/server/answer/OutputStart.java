package dev.ebb.server.answer;

import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Segment;
import dev.ebb.model.OutputLoss;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.service.OutputReading;
import java.util.Arrays;

/**
 * The beginning of an output, as far as one answer has room for it.
 *
 * @param isCut whether there is more
 * @param unread stored bytes that could not be read
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record OutputStart(byte[] stdout, byte[] stderr, boolean isCut, OutputLoss unread) {
  /** How much of each stream goes into one answer. */
  public static final int MOST = 1 << 20;

  /** The size for which there is always room. */
  private static final int LEAST = 16 * 1024;

  public static OutputStart read(Exchange exchange, Segment segment) throws InterruptedException {
    var reading = new OutputReading(segment);
    byte[] stdout = reading.stdout(0, most(exchange, segment.stdout(), 0));
    byte[] stderr = reading.stderr(0, most(exchange, segment.stderr(), 0));
    boolean isCut =
        stdout.length < segment.stdout().size() || stderr.length < segment.stderr().size();
    return new OutputStart(stdout, stderr, isCut, reading.unread());
  }

  /**
   * Reads the output from {@code offset} on, up to a bound, or a smaller bound if memory is short.
   */
  public static byte[] read(Exchange exchange, OutputLog log, long offset)
      throws InterruptedException {
    return read(log, offset, most(exchange, log, offset));
  }

  private static int most(Exchange exchange, OutputLog log, long offset)
      throws InterruptedException {
    long length = Math.min(MOST, Math.max(0, log.size() - offset));
    boolean hasRoom = length <= LEAST || exchange.hasRoomFor(length);
    return hasRoom ? MOST : LEAST;
  }

  public static byte[] read(OutputLog log) {
    return read(log, 0, LEAST);
  }

  private static byte[] read(OutputLog log, long offset, int most) {
    int length = (int) Math.min(most, Math.max(0, log.size() - offset));
    byte[] bytes = new byte[length];
    int done = log.read(offset, bytes);
    return done == length ? bytes : Arrays.copyOf(bytes, done);
  }
}
