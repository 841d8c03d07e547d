package dev.ebb.pool;

import dev.ebb.admission.Gauges;
import dev.ebb.admission.Readings;
import dev.ebb.admission.Resource;
import dev.ebb.admission.Thresholds;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ByteSize;
import dev.ebb.model.SandboxException;
import java.nio.file.Path;

/**
 * The share of a host, or of a container, that waiting boxes may take.
 *
 * @param boxes the most that may wait, by the limits of processes and descriptors
 * @param memory the most that they, with their zygote, may take
 */
record PoolRoom(int boxes, ByteSize memory) {
  /** The pool takes at most one part in this many of the process limit. */
  private static final int SHARE_OF_PIDS = 32;

  /** A waiting box keeps up to four descriptors of this process open. */
  private static final int SHARE_OF_DESCRIPTORS = 64;

  private static final int SHARE_OF_MEMORY = 8;

  private static final int SHARE_OF_PRELOADED = 4;

  /** Returns the room of a pool on this host; only what adapts is bounded in memory. */
  static PoolRoom of(PoolPolicy policy) {
    PoolRoom all = ofThisHost();
    return policy.adaptation().isPresent()
        ? all
        : new PoolRoom(all.boxes(), new ByteSize(all.memory().bytes() * SHARE_OF_MEMORY));
  }

  /** Returns the same with no more boxes than this. */
  PoolRoom butAtMost(int fewer) {
    return new PoolRoom(Math.min(boxes, fewer), memory);
  }

  /** Returns the most memory that learned modules may take. */
  ByteSize preloaded() {
    return new ByteSize(memory.bytes() / SHARE_OF_PRELOADED);
  }

  private static PoolRoom ofThisHost() {
    try {
      Readings readings = new Gauges(Path.of("/"), Thresholds.DEFAULT).read();
      return of(
          readings.of(Resource.PIDS).limit(),
          readings.of(Resource.DESCRIPTORS).limit(),
          readings.of(Resource.MEMORY).limit());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  /** Returns the room within the tightest limits of processes, descriptors and memory. */
  static PoolRoom of(long pids, long descriptors, long memory) {
    long most = Math.min(pids / SHARE_OF_PIDS, descriptors / SHARE_OF_DESCRIPTORS);
    return new PoolRoom(
        Math.clamp(most, 1, Integer.MAX_VALUE), new ByteSize(memory / SHARE_OF_MEMORY));
  }
}
