package dev.ebb.cli.front;

/** The messages between a front and the daemon: a visible pair with {@code init/front/front.h}. */
final class FrontProtocol {
  // --- from the front ---

  static final char FRONT_HELLO = 'H';
  static final char FRONT_GO = 'G';
  static final char FRONT_INPUT = 'I';
  static final char FRONT_UNREAD = 'U';
  static final char FRONT_SIGNAL = 'S';
  static final char FRONT_SIZE = 'W';
  static final char FRONT_FAILED = 'F';
  static final char FRONT_DONE = 'D';

  // --- from the daemon ---

  static final char DAEMON_READY = 'Y';
  static final char DAEMON_REFUSES = 'N';
  static final char DAEMON_OUT = 'O';
  static final char DAEMON_TEXT = 'P';
  static final char DAEMON_ERR = 'E';
  static final char DAEMON_READ = 'R';
  static final char DAEMON_SYNC = 'C';
  static final char DAEMON_RAW = 'T';
  static final char DAEMON_CATCH = 'M';
  static final char DAEMON_EXIT = 'X';

  // --- sizes ---

  static final int FRONT_HEADER = 5;

  /** The longest content of a message but of HELLO. */
  static final int FRONT_CHUNK = 64 * 1024;

  static final int FRONT_HELLO_MOST = 256 * 1024;

  private FrontProtocol() {}
}
