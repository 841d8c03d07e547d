package dev.ebb.torture;

import dev.ebb.kernel.Terminal;
import java.time.Duration;

/** Progress on stderr: one line that is rewritten on a terminal, else a line now and then. */
final class Progress {
  private static final Duration WITHOUT_TERMINAL = Duration.ofSeconds(10);

  private final boolean isTerminal = Terminal.isAt(Terminal.Stream.STDERR);
  private final Tally tally;
  private final Duration length;
  private Duration last = Duration.ZERO;

  Progress(Tally tally, Duration length) {
    this.tally = tally;
    this.length = length;
  }

  void show(String what, int processes) {
    Duration now = tally.sinceBegin();
    String line =
        "ebb torture: %d of %d s, %s: %d boxes, %d commands, %d kills, %d processes, %s"
            .formatted(
                now.toSeconds(),
                length.toSeconds(),
                what,
                tally.count(Tally.Group.BOX),
                tally.sum(Tally.Group.WORKLOAD),
                tally.sum(Tally.Group.KILL),
                processes,
                tally.isClean() ? "nothing left" : "VIOLATIONS");
    if (isTerminal) {
      System.err.print("\r\u001b[K" + line);
    } else if (now.minus(last).compareTo(WITHOUT_TERMINAL) >= 0) {
      last = now;
      System.err.println(line);
    }
  }

  void end() {
    if (isTerminal) {
      System.err.print("\r\u001b[K");
    }
  }
}
