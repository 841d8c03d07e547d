package dev.ebb.server.service;

import dev.ebb.kernel.Signal;
import java.time.Duration;
import java.util.Optional;

/** A signal to a command and all that it started, by its name. */
public final class ExecSignal {
  private final Signal signal;

  private ExecSignal(Signal signal) {
    this.signal = signal;
  }

  /** Empty if there is no such signal. */
  public static Optional<ExecSignal> of(String name) {
    return Signal.parse(name).map(ExecSignal::new);
  }

  /** Whether it ends the command for sure: TERM does by the ladder, KILL at once. */
  public boolean isEnding() {
    return signal == Signal.TERM || signal == Signal.KILL;
  }

  /** How long the command may go on after this. */
  public Duration grace(Duration wanted) {
    return signal == Signal.KILL ? Duration.ZERO : wanted;
  }

  /** Sends it; a command that has ended already is no error. */
  public void send(TenantExec exec, Duration grace) {
    if (isEnding()) {
      exec.kill(grace(grace));
    } else if (exec.isRunning()) {
      exec.exec().signal(signal);
    }
  }
}
