package dev.ebb.exec;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import java.io.IOException;

/** Command trees that are hard to end. Each prints "ready" once all its processes run. */
enum Unruly {
  SLEEPER(
      Manner.POLITE,
      1,
      """
      ready(); rest()
      """),

  FOUR_DEEP(
      Manner.POLITE,
      4,
      """
      for _ in range(3):
          if os.fork(): rest()
      ready(); rest()
      """),

  THREE_HUNDRED_CHILDREN(
      Manner.POLITE,
      301,
      """
      for _ in range(300):
          if os.fork() == 0: rest()
      ready(); rest()
      """),

  DEAF_TO_ALL_SIGNALS(
      Manner.STUBBORN,
      2,
      """
      for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
          signal.signal(number, signal.SIG_IGN)
      os.fork(); ready(); rest()
      """),

  STOPPED(
      Manner.POLITE,
      2,
      """
      child = os.fork()
      if child == 0:
          os.kill(os.getpid(), signal.SIGSTOP); rest()
      os.waitpid(child, os.WUNTRACED)
      ready()
      os.kill(os.getpid(), signal.SIGSTOP); rest()
      """),

  DAEMON(
      Manner.POLITE,
      2,
      """
      if os.fork() == 0:
          os.setsid()
          if os.fork(): os._exit(0)
          ready(); rest()
      os.wait(); rest()
      """),

  /** Daemons that each leave a successor behind and are gone, and a leader that makes more. */
  FORKS_DAEMONS_FOR_EVER(
      Manner.STUBBORN,
      10,
      """
      def fork():
          try: return os.fork()
          except OSError: return -1
      def wander():
          while True:
              time.sleep(0.002)
              pid = fork()
              if pid == 0: os.setsid()
              elif pid > 0: os._exit(0)
      signal.signal(signal.SIGTERM, signal.SIG_IGN)
      signal.signal(signal.SIGCHLD, signal.SIG_IGN)
      for _ in range(20):
          if os.fork() == 0: wander()
      ready()
      while True:
          time.sleep(0.005)
          if fork() == 0: wander()
      """),

  FORK_BOMB(
      Manner.RECKLESS,
      30,
      """
      told = False
      while True:
          try: os.fork()
          except OSError:
              if not told: ready()
              told = True
      """),

  THREAD_BOMB(
      Manner.POLITE,
      1,
      """
      import threading
      try:
          while True: threading.Thread(target=rest, daemon=True).start()
      except RuntimeError: ready(); rest()
      """);

  /** How it reacts to SIGTERM. */
  enum Manner {
    /** All of it dies. */
    POLITE,
    /** None of its processes does. */
    STUBBORN,
    /** Each process that is hit dies, and others are born meanwhile. */
    RECKLESS
  }

  private static final String PRELUDE =
      """
      import os, signal, time
      def ready(): os.write(1, b"ready\\n")
      def rest():
          while True: time.sleep(1000)
      """;

  private static final int BOMB_PIDS = 64;
  private static final int PIDS = 400;

  private final Manner manner;
  private final int members;
  private final String program;

  Unruly(Manner manner, int members, String program) {
    this.manner = manner;
    this.members = members;
    this.program = program;
  }

  Manner manner() {
    return manner;
  }

  /**
   * The least number of processes that are seen in it when it is ready. Without cgroups a process
   * that is born during the count may be missed: of a tree that moves, only the processes that stay
   * are certain.
   */
  int members(Workbench bench) throws IOException {
    return bench.hasSubreapers() && this == FORKS_DAEMONS_FOR_EVER ? 1 : members;
  }

  ExecSpec spec() {
    return Workbench.python(PRELUDE + program);
  }

  Limits limits() {
    boolean grows = this == FORK_BOMB || this == THREAD_BOMB || this == FORKS_DAEMONS_FOR_EVER;
    return Limits.defaults()
        .withMemory(ByteSize.mebibytes(2048))
        .withPids(grows ? BOMB_PIDS : PIDS);
  }
}
