package dev.ebb.torture.host;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Programs of the host that are run to their end. */
public final class Program {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(2);

  private Program() {}

  /** The output of a program, and its exit code: 128 + n for signal n. */
  public record Outcome(int code, String text) {}

  /** Runs it without input, with both output streams merged. */
  public static Outcome run(Path program, List<String> words, List<String> environment)
      throws IOException {
    try (var scope = new Scope()) {
      Pidfd child;
      Fd.Pipe output = Fd.pipe(scope, scope);
      Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ);
      child =
          Spawn.spawn(
              scope, program, words, environment, List.of(nothing, output.write(), output.write()));
      scope.release(output.write());
      String text = readAll(output.read());
      return new Outcome(await(child, PATIENCE), text);
    } catch (KernelException e) {
      throw new IOException("cannot run " + program + ": " + e.getMessage(), e);
    }
  }

  private static String readAll(Fd fd) throws KernelException {
    var all = new ByteArrayOutputStream();
    byte[] buffer = new byte[8192];
    for (int read = fd.read(buffer, 0, buffer.length);
        read > 0;
        read = fd.read(buffer, 0, buffer.length)) {
      all.write(buffer, 0, read);
    }
    return all.toString(StandardCharsets.UTF_8);
  }

  /** Waits for its end and reaps it; one that is late is killed. */
  public static int await(Pidfd child, Duration patience) throws KernelException {
    Deadline deadline = Deadline.in(patience);
    Optional<Pidfd.WaitStatus> ended = child.reap();
    while (ended.isEmpty()) {
      if (deadline.isOver()) {
        child.signal(Signal.KILL);
      }
      Deadline.never().pause(LOOK_AGAIN);
      ended = child.reap();
    }
    return ended.get().isExit() ? ended.get().status() : 128 + ended.get().status();
  }
}
