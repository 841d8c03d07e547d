package dev.ebb.torture;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Result;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Trace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Checks what a daemon reports of a command with a known course, and that it answers at all. Each
 * method returns what is wrong.
 */
final class Truth {
  /** A box for commands of our own. */
  static final BoxRequest SMALL =
      BoxRequest.defaults().withLimits(new Limits(64L << 20, 32, null, 8L << 20));

  /** Output of this size is kept in memory, so that a full disk does not lose it. */
  private static final int SMALL_OUTPUT = 1000;

  private Truth() {}

  /** Checks a command that exited with {@code code} before its timeout. */
  static List<Trace> inTime(Exec exec, int code) {
    boolean isTrue =
        Objects.equals(exec.status(), "exited") && Objects.equals(exec.exitCode(), code);
    return isTrue
        ? List.of()
        : broken(
            "command %d of %s exited with %d in time, but is reported as %s, %s"
                .formatted(exec.number(), exec.box(), code, exec.status(), exec.exitCode()));
  }

  /** Checks a command that wrote this many x and exited with 0: all of them, or a stated loss. */
  static List<Trace> output(Result result, int bytes) {
    Exec exec = result.exec();
    boolean isSuccess = Objects.equals(exec.status(), "exited") && !exec.truncated();
    boolean isWhole = result.stdout().text().equals("x".repeat(bytes));
    boolean isStated = Objects.equals(exec.status(), "output-lost") && bytes > SMALL_OUTPUT;
    return (isSuccess && isWhole) || isStated
        ? List.of()
        : broken(
            "command %d of %s wrote %d bytes, but is reported as %s, %s, with %d%s"
                .formatted(
                    exec.number(),
                    exec.box(),
                    bytes,
                    exec.status(),
                    exec.exitCode(),
                    result.stdout().bytes().length,
                    exec.truncated() ? ", truncated" : ""));
  }

  /** How to get a connection that no other caller has. */
  interface Door {
    EbbClient open() throws IOException;
  }

  /**
   * Checks that a daemon answers on a new connection, and runs a command to its end, or refuses it.
   */
  static List<Trace> answers(Door door, Duration patience) throws IOException {
    var fault = new AtomicReference<@Nullable String>("does not answer for " + patience);
    try (EbbClient client = door.open()) {
      Thread asking = Thread.ofVirtual().name("torture-pulse").start(() -> fault.set(ask(client)));
      var _ = asking.join(patience);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    String wrong = fault.get();
    return wrong == null ? List.of() : broken("the daemon " + wrong);
  }

  private static @Nullable String ask(EbbClient client) {
    try {
      client.boxes().list(BoxQuery.all());
      return runs(client);
    } catch (IOException e) {
      return "lists no boxes: " + e.getMessage();
    } catch (IllegalStateException e) {
      return "answers too late: " + e.getMessage();
    }
  }

  private static @Nullable String runs(EbbClient client) {
    try {
      Exec exec = client.run(SMALL, ExecRequest.of("true")).exec();
      return Objects.equals(exec.exitCode(), 0) ? null : "reports true(1) as " + exec.status();
    } catch (EbbException e) {
      // A refusal is an answer.
      return null;
    } catch (IOException e) {
      return "runs no command: " + e.getMessage();
    }
  }

  private static List<Trace> broken(String what) {
    return List.of(new Trace(Invariant.I14, "untrue", what, what));
  }
}
