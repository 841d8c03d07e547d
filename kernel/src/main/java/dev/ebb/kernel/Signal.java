package dev.ebb.kernel;

import java.util.Locale;
import java.util.Optional;

/** The signals that have a name; their numbers are equal on x86_64 and aarch64. */
public enum Signal {
  HUP(1),
  INT(2),
  QUIT(3),
  ILL(4),
  TRAP(5),
  ABRT(6),
  BUS(7),
  FPE(8),
  KILL(9),
  USR1(10),
  SEGV(11),
  USR2(12),
  PIPE(13),
  ALRM(14),
  TERM(15),
  STKFLT(16),
  CHLD(17),
  CONT(18),
  STOP(19),
  TSTP(20),
  TTIN(21),
  TTOU(22),
  URG(23),
  XCPU(24),
  XFSZ(25),
  VTALRM(26),
  PROF(27),
  WINCH(28),
  IO(29),
  PWR(30),
  SYS(31);

  private final int number;

  Signal(int number) {
    this.number = number;
  }

  public int number() {
    return number;
  }

  /** By name, with or without SIG, or by number. */
  public static Optional<Signal> parse(String text) {
    String name = text.toUpperCase(Locale.ROOT);
    for (Signal signal : values()) {
      if (name.equals(signal.name())
          || name.equals("SIG" + signal.name())
          || name.equals(Integer.toString(signal.number))) {
        return Optional.of(signal);
      }
    }
    return Optional.empty();
  }
}
