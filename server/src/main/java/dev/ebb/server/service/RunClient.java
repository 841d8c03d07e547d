package dev.ebb.server.service;

import dev.ebb.code.Cell;
import dev.ebb.code.Room;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A client that waits for what {@link RunService} runs, as its door knows it. Used by one thread;
 * only {@link #stopBy} hands out what another thread may call.
 */
public interface RunClient extends Room {
  /** A client that waits is sent something this often, or its end would not be noticed. */
  Duration HEARTBEAT = Duration.ofSeconds(1);

  /**
   * How far a run is.
   *
   * @param outputBytes how much it wrote until now
   * @param timeout how long it may take; zero: without a limit
   */
  record Progress(long outputBytes, Duration timeout) {}

  /** Whether the client has gone before anything was answered. */
  boolean hasLeft();

  /**
   * Shows the client that the daemon is there.
   *
   * @throws IOException the client has gone
   */
  void beat(Progress progress) throws IOException;

  /** The memory of bytes of the request that are kept until a command has read them. */
  TenantMemory.Claim keep(byte[] bytes);

  /** A command has started: the request itself is not needed any more. */
  default void onStarted() {}

  /** Whether a client that goes away ends its command. */
  default boolean endsWithClient() {
    return true;
  }

  /**
   * Cancelling the call runs {@code stop} from now on, at once if it was cancelled before.
   *
   * @param stop null: nothing runs any more
   */
  default void stopBy(@Nullable Runnable stop) {}

  /** Throws if the call was cancelled: then its result is not wanted any more. */
  default void requireWanted() {}

  /** Waits for the end of a command, and may send what it writes meanwhile. */
  default void follow(TenantExec exec) throws IOException, InterruptedException {
    ClientWait.untilEnd(exec, this);
  }

  /** Waits for the end of a cell, and may send what it writes and shows meanwhile. */
  default void follow(TenantContext context, Cell cell, Duration timeout)
      throws IOException, InterruptedException {
    ClientWait.untilEnd(cell, timeout, this);
  }
}
