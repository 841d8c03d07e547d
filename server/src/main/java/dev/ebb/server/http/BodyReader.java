package dev.ebb.server.http;

import dev.ebb.kernel.ProcessClock;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;

/** Reads a body into memory that is claimed beforehand. For one thread. */
final class BodyReader {
  private static final int SHORT = 8 * 1024;

  /** The factor for a parsed body: its text, its values, and their copies. */
  private static final int WEIGHT = 4;

  /** The memory of one value in a body, beside its text. */
  private static final long VALUE_WEIGHT = 64;

  private static final long VALUES_MOST = 200_000;

  private static final int CHUNK = 16 * 1024;

  /** Bodies longer than this are read one at a time for each tenant. */
  private static final int LONG = 256 * 1024;

  /** A body that comes slowly delays the other long ones of its tenant by no more than this. */
  private static final Duration TURN_PATIENCE = Duration.ofMillis(100);

  private static final Duration ROOM_PATIENCE = Duration.ofMillis(250);
  private static final int RATE = 64 * 1024;
  private static final Duration PATIENCE = Duration.ofSeconds(15);

  private final TenantMemory.Claim claim;
  private final long most;
  private final long begun = ProcessClock.nanos();

  private byte[] body = new byte[0];
  private int size;
  private long values;

  /** Where to look at the clock, and to yield, next. */
  private int turnAt = CHUNK;

  BodyReader(TenantMemory.Claim claim, long most) {
    this.claim = claim;
    this.most = most;
  }

  /** Returns the longest body for a tenant that can have so much memory. */
  static long most(long memory) {
    return SHORT + memory / WEIGHT;
  }

  /** Returns whether the work that this body takes needs no turn. */
  static boolean isShort(byte[] body) {
    return body.length <= CHUNK;
  }

  /** Reads a body to its end; {@code length} is less than zero if it is not known. */
  byte[] read(InputStream content, long length) throws IOException {
    requireShort(length);
    // A body of known length is claimed and allocated at once: growing would copy it many times.
    body = new byte[claimBody(0, Math.max(SHORT, length))];
    if (length > LONG || !hasEndedBy(LONG, content, length)) {
      try (TenantMemory.Place _ = claim.place(TURN_PATIENCE)) {
        hasEndedBy(Integer.MAX_VALUE, content, length);
      }
    }
    return size == body.length ? body : Arrays.copyOf(body, size);
  }

  /** Reads until the body ends, or has more than so many bytes. */
  private boolean hasEndedBy(int end, InputStream content, long length) throws IOException {
    for (int n = read(content); n >= 0; n = read(content)) {
      claimValues(n);
      size += n;
      if (size == body.length && size != length) {
        requireShort(size + 1L);
        body = Arrays.copyOf(body, claimBody(size, 2L * size));
      }
      if (size >= turnAt) {
        turnAt = size + CHUNK;
        requireInTime(ProcessClock.nanos() - begun, size);
        Turns.giveWay();
      }
      if (size > end) {
        return false;
      }
    }
    return true;
  }

  private int read(InputStream content) throws IOException {
    boolean isWhole = size == body.length;
    int n =
        isWhole ? content.read() : content.read(body, size, Math.min(CHUNK, body.length - size));
    if (isWhole && n >= 0) {
      throw new IOException("the body is longer than its Content-Length");
    }
    return n;
  }

  /** Claims memory for a growing body; returns the new size. */
  private int claimBody(long before, long wanted) {
    addSoon(WEIGHT * (Math.max(SHORT, wanted) - Math.max(SHORT, before)));
    return Math.toIntExact(wanted);
  }

  /**
   * Claims memory, waiting briefly: a client gets its answer shortly before the memory of its last
   * request is released.
   */
  private void addSoon(long bytes) {
    try {
      claim.add(bytes);
    } catch (SandboxException e) {
      if (!hasRoomSoon(bytes)) {
        throw e;
      }
    }
  }

  private boolean hasRoomSoon(long bytes) {
    try {
      return claim.tryAdd(bytes, ROOM_PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Bounds the number of values in a body: a short value takes many times its size in memory. */
  private void claimValues(int length) {
    long free = SHORT / 4;
    long before = Math.max(values, free);
    values = Math.min(VALUES_MOST, values + begunIn(body, size, size + length));
    if (values > before) {
      addSoon(VALUE_WEIGHT * (values - before));
    }
  }

  /** Returns how many values may begin in a part of a text. */
  private static int begunIn(byte[] text, int from, int to) {
    int values = 0;
    for (int i = from; i < to; i++) {
      byte c = text[i];
      values += c == ',' || c == ':' || c == '[' || c == '{' ? 1 : 0;
    }
    return values;
  }

  /** Refuses a body above the limit, which is lower in a small heap. */
  private void requireShort(long length) {
    if (length > most) {
      throw new Problem(Problem.Code.TOO_LARGE, "the body is larger than " + most + " bytes");
    }
  }

  /**
   * Refuses a body that comes too slowly: each byte restarts the idle timeout, so that alone does
   * not bound the time.
   */
  static void requireInTime(long nanos, long length) {
    if (nanos > PATIENCE.plusSeconds(length / RATE).toNanos()) {
      throw new Problem(
          Problem.Code.TIMED_OUT, "the body comes slower than " + RATE + " bytes a second");
    }
  }
}
