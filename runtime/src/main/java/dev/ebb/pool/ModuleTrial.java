package dev.ebb.pool;

import dev.ebb.box.Box;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Finds out what a module of the host costs, and whether a copy of the python that has imported it
 * is still as good as a new one. It is imported in a new box ({@code trial.py}), where no file of a
 * tenant is, and which ends with the trial.
 */
final class ModuleTrial {
  private static final Logger LOG = System.getLogger(ModuleTrial.class.getName());
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int LINE = 256;

  /** Less is not worth a new zygote. */
  private static final Duration LEAST = Duration.ofNanos(500_000);

  private final WarmPool.Maker maker;

  ModuleTrial(WarmPool.Maker maker) {
    this.maker = maker;
  }

  /** Returns what it costs to import it; empty: it must not be imported, or need not be. */
  Optional<Preloads.Cost> of(String module) throws InterruptedException {
    Box box = maker.make(BoxSpec.defaults(), Optional.empty());
    try {
      Exec exec = Exec.start(box, command(module));
      ExitCause cause = exec.await().cause();
      String line = cause.equals(new ExitCause.Exited(0)) ? line(exec) : "no " + cause;
      LOG.log(Level.DEBUG, "event=pool_module_tried box={0} result=\"{1}\"", box.id(), line);
      return cost(line);
    } finally {
      maker.discard(box);
    }
  }

  /** A caller goes first. */
  private static ExecSpec command(String module) {
    return ExecSpec.of(
            List.of("nice", "-n", "19", "python3", "-c", Interpreter.read("trial.py"), module))
        .withTimeout(PATIENCE)
        .withGrace(Duration.ZERO);
  }

  private static String line(Exec exec) {
    byte[] line = new byte[LINE];
    int size = Math.max(0, exec.stdout().read(0, line));
    return new String(line, 0, size, StandardCharsets.UTF_8).strip();
  }

  private static Optional<Preloads.Cost> cost(String line) {
    String[] words = line.split(" ", -1);
    if (words.length != 4 || !words[0].equals("yes")) {
      return Optional.empty();
    }
    Duration cpu = Duration.ofNanos(1_000 * Long.parseLong(words[1]));
    var cost = new Preloads.Cost(cpu, new ByteSize(1024 * Long.parseLong(words[2])));
    return cpu.compareTo(LEAST) < 0 ? Optional.empty() : Optional.of(cost);
  }
}
