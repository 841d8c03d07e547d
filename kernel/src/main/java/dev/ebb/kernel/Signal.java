package dev.ebb.kernel;

/** The signals Ebb sends or reports by name. */
public enum Signal {
  HUP(1),
  INT(2),
  QUIT(3),
  KILL(9),
  TERM(15),
  CONT(18),
  STOP(19);

  private final int number;

  Signal(int number) {
    this.number = number;
  }

  public int number() {
    return number;
  }
}
