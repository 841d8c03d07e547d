package dev.ebb.oracle;

/** The promises of Ebb by number; they hold after any event. */
public enum Invariant {
  I1("no live process in the cgroup of a box"),
  I2("no zombie"),
  I3("no process with our identity"),
  I4("no cgroup, in any hierarchy"),
  I5("no mount and no device"),
  I6("no file, directory or socket of a box"),
  I7("the daemon's descriptors by kind and its threads are at their baseline"),
  I8("the ledger holds no line, and the daemon knows no box"),
  I9("ports are free"),
  I10("disk and inodes are at their baseline"),
  I11("no shared memory, SysV object or message queue"),
  I12("repeating a kill or a removal is success"),
  I13("the time until all was gone is recorded"),
  I14("the daemon answers, and its reports of commands are true");

  private final String words;

  Invariant(String words) {
    this.words = words;
  }

  public String words() {
    return words;
  }
}
