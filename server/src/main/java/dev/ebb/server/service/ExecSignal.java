package dev.ebb.server.service;

import dev.ebb.kernel.Signal;
import java.time.Duration;
import java.util.Optional;

/** A signal to a command and its process tree, by name. */
public final class ExecSignal {
  private final Signal signal;

  private ExecSignal(Signal signal) {
    this.signal = signal;
  }

  /** Parses a name; empty if there is no such signal. */
  public static Optional<ExecSignal> of(String name) {
    return Signal.parse(name).map(ExecSignal::new);
  }

  /** Returns whether it certainly ends the command: TERM by the ladder, KILL at once. */
  public boolean isEnding() {
    return signal == Signal.TERM || signal == Signal.KILL;
  }

  /** Returns how long the command may continue after it. */
  public Duration grace(Duration wanted) {
    return signal == Signal.KILL ? Duration.ZERO : wanted;
  }

  /** Sends it; no-op for a command that has ended. */
  public void send(TenantExec exec, Duration grace) {
    if (isEnding()) {
      exec.kill(grace(grace));
    } else if (exec.isRunning()) {
      exec.exec().signal(signal);
    }
  }
}
