package dev.ebb.admission;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.util.concurrent.locks.LockSupport;

/**
 * A deliberate leak for tests: with the system property {@code ebb.leak} set to {@code descriptor}
 * or {@code thread}, each admission leaks one. Nothing else enables it.
 */
final class Leak {
  private static final String WHAT = System.getProperty("ebb.leak", "");

  private static final Scope HOARD = new Scope();

  private Leak() {}

  static void leakIfConfigured() {
    switch (WHAT) {
      case "descriptor" -> leakDescriptor();
      case "thread" -> Thread.ofPlatform().daemon().name("ebb-leak").start(Leak::stay);
      default -> {}
    }
  }

  private static void stay() {
    while (true) {
      LockSupport.park();
    }
  }

  private static void leakDescriptor() {
    try {
      Fd.event(HOARD);
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }
}
