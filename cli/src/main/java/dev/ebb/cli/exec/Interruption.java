package dev.ebb.cli.exec;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.exec.Exec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Handles Ctrl-C and similar signals: the first runs the kill ladder, the second skips its grace.
 * While the box is still being made, a signal interrupts that.
 */
final class Interruption {
  private final Thread maker;
  private @Nullable Exec exec;
  private Duration grace = Duration.ZERO;
  private int signal;

  Interruption(Thread maker) {
    this.maker = maker;
  }

  void install(Caller caller) {
    caller.onSignals(Caller.ENDING, this::handle);
  }

  synchronized void attach(Exec running, Duration itsGrace) {
    exec = running;
    grace = itsGrace;
    if (signal != 0) {
      exec.kill(grace);
    }
  }

  private synchronized void handle(int caught) {
    boolean again = signal != 0;
    signal = caught;
    if (exec == null) {
      maker.interrupt();
    } else {
      exec.kill(again ? Duration.ZERO : grace);
    }
  }

  /** 128 + n once we were signalled, else 0. */
  synchronized int code() {
    return signal == 0 ? 0 : ExitCode.SIGNALLED + signal;
  }

  int code(int otherwise) {
    return code() == 0 ? otherwise : code();
  }
}
