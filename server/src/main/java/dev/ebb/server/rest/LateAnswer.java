package dev.ebb.server.rest;

import dev.ebb.server.boxes.ServedExec;
import dev.ebb.server.code.CodeRun;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The answer to whoever waits for commands, one after the other: JSON, with white space ahead when
 * it is late, so that both ends know of each other, or events. A caller who goes away takes the
 * command along, unless that was not wanted.
 */
abstract class LateAnswer implements CodeRun.Attendant {
  /** How much longer than its grace a kill may take. */
  static final Duration LADDER_SLACK = Duration.ofSeconds(30);

  private final Exchange exchange;
  private boolean isLeft;

  private LateAnswer(Exchange exchange) {
    this.exchange = exchange;
  }

  @Override
  public final boolean hasRoomFor(long bytes) throws InterruptedException {
    return exchange.hasRoomFor(bytes);
  }

  /** As the caller wants it. Nothing is answered yet. */
  static LateAnswer to(Exchange exchange) {
    return exchange.accepts("text/event-stream") ? new Events(exchange) : new Whole(exchange);
  }

  /** What runs then goes on without a caller. */
  final LateAnswer leaving(boolean isLeft) {
    this.isLeft = isLeft;
    return this;
  }

  /** Waits for the end of a command of which nothing is told. */
  @Override
  public final void await(ServedExec exec) throws IOException, InterruptedException {
    attended(
        exec,
        () -> {
          if (exec.box().attend(exec, EventStream.HEARTBEAT).isPresent()) {
            return;
          }
          // ORDER: what never began is refused, which cannot be said any more once it is 200.
          exec.awaitStart();
          while (exec.ending().isEmpty()) {
            beat();
            exec.await(EventStream.HEARTBEAT);
          }
        });
  }

  /** Waits for the end of the command that all this is about, if it began at all. */
  @Override
  public final void follow(ServedExec exec) throws IOException, InterruptedException {
    attended(exec, () -> tell(exec));
  }

  private interface Attendance {
    void attend() throws IOException, InterruptedException;
  }

  private void attended(ServedExec exec, Attendance attendance)
      throws IOException, InterruptedException {
    try {
      attendance.attend();
    } catch (IOException e) {
      if (!isLeft) {
        exec.kill(exec.spec().grace());
        // ORDER: a box of its own goes after this, and would cut the grace short.
        exec.awaitSurely(exec.spec().grace().plus(LADDER_SLACK));
      }
      throw e;
    }
  }

  /** Shows that we are there, and finds out whether the caller is. */
  abstract void beat() throws IOException;

  abstract void tell(ServedExec exec) throws IOException, InterruptedException;

  /** Whether the document holds what the command wrote, which was not told before. */
  abstract boolean isWhole();

  abstract void end(Map<String, Object> document) throws IOException;

  private static final class Whole extends LateAnswer {
    private final Exchange exchange;
    private @Nullable OutputStream out;

    private Whole(Exchange exchange) {
      super(exchange);
      this.exchange = exchange;
    }

    @Override
    void beat() throws IOException {
      if (out == null) {
        out = exchange.stream(200, "application/json");
      }
      out.write('\n');
      out.flush();
    }

    @Override
    void tell(ServedExec exec) throws IOException, InterruptedException {
      await(exec);
    }

    @Override
    boolean isWhole() {
      return true;
    }

    @Override
    void end(Map<String, Object> document) throws IOException {
      if (out == null) {
        exchange.answer(200, document);
        return;
      }
      try (OutputStream last = out) {
        JsonOutput.write(document, last);
      }
    }
  }

  private static final class Events extends LateAnswer {
    private final Exchange exchange;
    private @Nullable EventStream events;
    private EventStream.Position at = EventStream.Position.START;

    private Events(Exchange exchange) {
      super(exchange);
      this.exchange = exchange;
    }

    private EventStream events() throws IOException {
      if (events == null) {
        events = new EventStream(exchange);
      }
      return events;
    }

    @Override
    void beat() throws IOException {
      events().beat();
    }

    @Override
    void tell(ServedExec exec) throws IOException, InterruptedException {
      exec.box().attend(exec);
      exec.awaitStart();
      if (exec.ending().orElse(null) instanceof ServedExec.Ending.Refused) {
        return;
      }
      events().start(Documents.exec(exec));
      at = events().follow(exec, EventStream.Position.START);
    }

    @Override
    boolean isWhole() {
      return false;
    }

    @Override
    void end(Map<String, Object> document) throws IOException {
      events().end(at, document);
    }
  }
}
