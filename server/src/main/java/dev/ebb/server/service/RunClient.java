package dev.ebb.server.service;

import dev.ebb.code.Cell;
import dev.ebb.code.Room;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A client that waits for what {@link RunService} runs, implemented by its door. Used by one
 * thread; only {@link #stopBy} hands out what another thread may call.
 */
public interface RunClient extends Room {
  /** A waiting client is sent something this often; otherwise its end would not be noticed. */
  Duration HEARTBEAT = Duration.ofSeconds(1);

  /**
   * The progress of a run.
   *
   * @param outputBytes how much it wrote until now
   * @param timeout how long it may take; zero: without a limit
   */
  record Progress(long outputBytes, Duration timeout) {}

  /** Returns whether the client has disconnected before the answer began. */
  boolean hasLeft();

  /**
   * Sends a heartbeat.
   *
   * @throws IOException the client has disconnected
   */
  void beat(Progress progress) throws IOException;

  /** Claims memory for bytes of the request that are kept until a command has read them. */
  TenantMemory.Claim keep(byte[] bytes);

  /** Called when a command has started: the request itself is not needed any more. */
  default void onStarted() {}

  /** Returns whether a disconnected client ends its command. */
  default boolean endsWithClient() {
    return true;
  }

  /**
   * Sets what cancels the call; runs it at once if the call was cancelled before.
   *
   * @param stop null: nothing runs any more
   */
  default void stopBy(@Nullable Runnable stop) {}

  /** Throws if the call was cancelled, so that its result is not needed. */
  default void requireWanted() {}

  /** Waits for the end of a command, and may send its output meanwhile. */
  default void follow(TenantExec exec) throws IOException, InterruptedException {
    ClientWait.untilEnd(exec, this);
  }

  /** Waits for the end of a cell, and may send its output and displays meanwhile. */
  default void follow(TenantContext context, Cell cell, Duration timeout)
      throws IOException, InterruptedException {
    ClientWait.untilEnd(cell, timeout, this);
  }
}
