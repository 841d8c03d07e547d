package dev.ebb.server.service;

import dev.ebb.code.Cell;
import dev.ebb.code.Room;
import dev.ebb.model.CellOrder;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Waits for a command or a cell on behalf of a client. When the client disconnects or cancels the
 * call, ends the command or cell, once.
 */
final class ClientWait implements Room {
  /** How much longer than its grace a kill may take. */
  private static final Duration KILL_SLACK = Duration.ofSeconds(30);

  /** How much longer than its grace the end of a cell may take. */
  private static final Duration CANCEL_SLACK = Duration.ofSeconds(60);

  private final RunClient client;

  ClientWait(RunClient client) {
    this.client = client;
  }

  @Override
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return client.hasRoomFor(bytes);
  }

  private interface Wait {
    void run() throws IOException, InterruptedException;
  }

  /** Waits for the end of a command that sends its client no output. */
  void await(TenantExec exec) throws IOException, InterruptedException {
    guard(exec, () -> untilEnd(exec, client));
  }

  /** Waits for the end of a command with output that the client may follow. */
  void follow(TenantExec exec) throws IOException, InterruptedException {
    guard(exec, () -> client.follow(exec));
  }

  private void guard(TenantExec exec, Wait wait) throws IOException, InterruptedException {
    Duration grace = exec.spec().grace();
    Runnable kill = once(() -> exec.kill(grace));
    client.stopBy(kill);
    try {
      wait.run();
      client.requireWanted();
    } catch (IOException e) {
      if (client.endsWithClient()) {
        kill.run();
        // ORDER: a box of its own goes after this, and would cut the grace short.
        exec.awaitSurely(grace.plus(KILL_SLACK));
      }
      throw e;
    } finally {
      client.stopBy(null);
    }
  }

  /**
   * Waits for the end of a cell. A cell to be ended is interrupted first, then killed with its
   * interpreter.
   */
  void follow(TenantContext context, TenantContext.Ordered ordered, CellOrder order)
      throws IOException, InterruptedException {
    Runnable cancel = once(ordered::cancel);
    client.stopBy(cancel);
    try {
      client.follow(context, ordered.cell(), order.timeout());
      client.requireWanted();
    } catch (IOException | InterruptedException | RuntimeException e) {
      cancel.run();
      ordered.cell().await(order.grace().plus(CANCEL_SLACK));
      throw e;
    } finally {
      client.stopBy(null);
    }
  }

  private static Runnable once(Runnable action) {
    var isDone = new AtomicBoolean();
    return () -> {
      if (isDone.compareAndSet(false, true)) {
        action.run();
      }
    };
  }

  /** Waits for the end of a command, and sends the client heartbeats. */
  static void untilEnd(TenantExec exec, RunClient client) throws IOException, InterruptedException {
    if (exec.box().awaitEnd(exec, RunClient.HEARTBEAT).isPresent()) {
      return;
    }
    // ORDER: a command that never began is refused, which is impossible once the status is 200.
    exec.awaitStart();
    while (exec.ending().isEmpty()) {
      long written = exec.exec().stdout().size() + exec.exec().stderr().size();
      client.beat(new RunClient.Progress(written, exec.spec().timeout()));
      exec.await(RunClient.HEARTBEAT);
    }
  }

  /** Waits for the end of a cell, and sends the client heartbeats. */
  static void untilEnd(Cell cell, Duration timeout, RunClient client)
      throws IOException, InterruptedException {
    while (cell.await(RunClient.HEARTBEAT).isEmpty()) {
      long written =
          cell.segment().map(out -> out.stdout().size() + out.stderr().size()).orElse(0L);
      client.beat(new RunClient.Progress(written, timeout));
    }
  }
}
