package dev.ebb.testkit.offences;

import dev.ebb.testkit.offences.upper.Upper;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.util.Lists;

/** Breaks every rule of {@link dev.ebb.testkit.ArchitectureRules}; it is never run. */
final class Offender {
  private Offender() {}

  static void usesWhatLiesAbove() {
    Upper.use();
  }

  static Object usesALibrary() {
    return Lists.list("x");
  }

  static Process startsAProcess() throws IOException {
    return new ProcessBuilder("true").start();
  }

  static void sleeps() {
    LockSupport.parkNanos(1);
  }

  static Arena callsNativeCode() {
    return Arena.global();
  }
}
