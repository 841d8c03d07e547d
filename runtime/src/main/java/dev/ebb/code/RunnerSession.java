package dev.ebb.code;

import dev.ebb.exec.Exec;
import dev.ebb.exec.RunnerSocket;
import dev.ebb.exec.Segment;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The protocol with the interpreter of one context: receives the frames of the running cell, and
 * ends the interpreter when it hangs up or breaks the protocol. Thread-safe.
 */
final class RunnerSession {
  private static final Duration SEND_PATIENCE = Duration.ofSeconds(10);

  /** How long a killed process tree may take to be gone. */
  private static final Duration END_PATIENCE = Duration.ofSeconds(30);

  /** How long an interpreter that closed its socket may take to exit. */
  private static final Duration LAST_WORD = Duration.ofSeconds(2);

  /** The nonce of a frame that belongs to no cell. */
  static final String NO_NONCE = "0".repeat(16);

  private final Exec exec;
  private final RunnerSocket socket;
  private final Frames frames = new Frames(new Receiver());

  private volatile @Nullable Cell current;
  private volatile boolean ready;
  private volatile boolean hungUp;

  /** How the interpreter broke the protocol. */
  private volatile @Nullable String broken;

  private volatile @Nullable ExitCause cause;

  RunnerSession(Exec exec) {
    this.exec = exec;
    socket = exec.runnerSocket().orElseThrow();
  }

  /** Receives from the interpreter, and sends it its runner. */
  void begin(Runner runner) {
    try {
      socket.listen(new Words());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
    // ORDER: the interpreter reports that it is ready before it is sent anything else.
    socket.send(runner.boot(), Deadline.in(SEND_PATIENCE));
  }

  Exec exec() {
    return exec;
  }

  /** Returns the cell that was sent last and has not ended; null: none. */
  @Nullable Cell current() {
    return current;
  }

  boolean isReady() {
    return ready;
  }

  boolean isOver() {
    return broken != null || hungUp || exec.isOver();
  }

  boolean isBroken() {
    return broken != null;
  }

  /** Returns how the interpreter broke the protocol, if it was ended for that. */
  Optional<String> broken() {
    return Optional.ofNullable(broken);
  }

  /** Returns how the interpreter ended, if that is known. */
  Optional<ExitCause> cause() {
    return Optional.ofNullable(cause);
  }

  /** Sends a cell; from now on frames with its nonce are accepted. */
  void send(Cell cell) {
    current = cell;
    if (!isOver() && !socket.send(cell.order().words(cell.nonce()), Deadline.in(SEND_PATIENCE))) {
      hungUp = true;
    }
  }

  /** Called when the running cell has ended. */
  void release() {
    current = null;
  }

  /**
   * Waits for {@code condition} while {@code segment} receives; returns false if the deadline came
   * first. ORDER: what the interpreter has sent by then is received before that decides.
   */
  boolean await(Segment segment, BooleanSupplier condition, Deadline deadline)
      throws InterruptedException {
    if (segment.await(condition, deadline)) {
      return true;
    }
    var _ = exec.catchUp();
    return condition.getAsBoolean();
  }

  void wake() {
    exec.segment().wake();
  }

  /** Returns how the interpreter ended; kills it if it only hung up. */
  Optional<ExitCause> end() throws InterruptedException {
    Optional<ExecResult> last = exec.await(LAST_WORD);
    if (last.isEmpty()) {
      exec.kill(Duration.ZERO);
      last = exec.await(END_PATIENCE);
    }
    // Its last frames may be on their way.
    var _ = await(exec.segment(), () -> hungUp, Deadline.in(LAST_WORD));
    last.ifPresent(result -> cause = result.cause());
    return cause();
  }

  /** Ends the interpreter on another thread than the poller's, because a kill may wait. */
  void breakUp(String wrong) {
    broken = wrong;
    wake();
    Thread.ofVirtual().name("ebb-broken-context").start(() -> exec.kill(Duration.ZERO));
  }

  // --- incoming frames ---

  private final class Words implements RunnerSocket.Listener {
    @Override
    public boolean received(byte[] bytes, int length) {
      String wrong = frames.take(bytes, length);
      if (wrong != null) {
        breakUp(wrong);
      }
      return wrong == null;
    }

    @Override
    public void ended() {
      hungUp = true;
      wake();
      Thread.ofVirtual().name("ebb-context-end").start(RunnerSession.this::seeOff);
    }
  }

  /** Ends an interpreter that hung up and does not end by itself. */
  private void seeOff() {
    try {
      var _ = end();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Receiver implements Frames.Listener {
    @Override
    public @Nullable String opens(String nonce, Frames.Kind kind) {
      if (kind == Frames.Kind.READY) {
        return ready || !nonce.equals(NO_NONCE) ? "ready when it was so already" : null;
      }
      Cell cell = current;
      boolean isRight = cell != null && cell.done == null && cell.nonce().equals(nonce);
      return isRight ? null : "a word about no cell that runs";
    }

    @Override
    public boolean wants(Frames.Kind kind, int size) {
      Cell cell = current;
      return cell != null && (size == 0 || kind == Frames.Kind.DONE || cell.reserve(size));
    }

    @Override
    public @Nullable String received(Frames.Kind kind, byte @Nullable [] body) {
      boolean isRight = take(kind, body);
      wake();
      return isRight ? null : "a strange " + kind.wireName();
    }
  }

  private boolean take(Frames.Kind kind, byte @Nullable [] body) {
    Cell cell = current;
    if (kind == Frames.Kind.READY) {
      ready = true;
      return true;
    }
    // RACE: the cell may have been cancelled in the middle of the frame.
    return cell != null && take(cell, kind, body);
  }

  private static boolean take(Cell cell, Frames.Kind kind, byte @Nullable [] body) {
    return switch (kind) {
      case BEGUN -> {
        cell.begin();
        yield true;
      }
      case FORM -> body == null || cell.addForm(body);
      case DISPLAY -> {
        cell.show(false);
        yield true;
      }
      case RESULT -> {
        cell.show(true);
        yield true;
      }
      case CUT -> {
        cell.cut();
        yield true;
      }
      case ERROR -> body == null || cell.addError(body);
      case DONE -> body != null && cell.finish(new String(body, StandardCharsets.US_ASCII));
      case READY -> false;
    };
  }
}
