package dev.ebb.kernel;

import static dev.ebb.kernel.SystemCall.IOCTL;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The terminal of this process in raw mode: closing restores the mode it had.
 *
 * <p>Thread-safe.
 */
public final class Terminal implements Owned {
  /** Where a terminal may be. */
  public enum Stream {
    STDIN(0),
    STDOUT(1),
    STDERR(2);

    private final int number;

    Stream(int number) {
      this.number = number;
    }
  }

  /** Rows and columns. */
  public record Size(int rows, int columns) {}

  private static final int TCGETS = 0x5401;

  /** At once: waiting for the output to drain would hang on a terminal that is not read. */
  private static final int TCSETS = 0x5402;

  private static final int TIOCGWINSZ = 0x5413;

  /** KERNEL: struct termios of the kernel, not libc's: four words of flags, a byte, c_cc[19]. */
  private static final int TERMIOS_SIZE = 36;

  private static final int INPUT_FLAGS = 0;
  private static final int OUTPUT_FLAGS = 4;
  private static final int CONTROL_FLAGS = 8;
  private static final int LOCAL_FLAGS = 12;
  private static final int CONTROL_CHARACTERS = 17;
  private static final int VTIME = 5;
  private static final int VMIN = 6;

  /** IGNBRK, BRKINT, PARMRK, ISTRIP, INLCR, IGNCR, ICRNL, IXON: as cfmakeraw(3) has it. */
  private static final int COOKED_INPUT = 02753;

  private static final int OPOST = 01;

  /** ECHO, ECHONL, ICANON, ISIG, IEXTEN. */
  private static final int COOKED_LOCAL = 010 | 0100 | 02 | 01 | 0100000;

  private static final int CSIZE_AND_PARENB = 060 | 0400;
  private static final int CS8 = 060;

  private final byte[] before;
  private final AtomicBoolean restored = new AtomicBoolean();

  private Terminal(byte[] before) {
    this.before = before;
  }

  public static boolean isAt(Stream stream) {
    try (var frame = new Frame()) {
      MemorySegment termios = frame.allocate(TERMIOS_SIZE);
      return frame.call(IOCTL, stream.number, TCGETS, termios.address()) == 0;
    }
  }

  /** How large it is; none where there is no terminal, or one that does not know. */
  public static Optional<Size> size(Stream stream) {
    try (var frame = new Frame()) {
      MemorySegment size = frame.allocate(8);
      if (frame.call(IOCTL, stream.number, TIOCGWINSZ, size.address()) != 0) {
        return Optional.empty();
      }
      int rows = size.get(JAVA_SHORT, 0) & 0xffff;
      int columns = size.get(JAVA_SHORT, 2) & 0xffff;
      return rows == 0 || columns == 0 ? Optional.empty() : Optional.of(new Size(rows, columns));
    }
  }

  /** Every key goes through as it is, Ctrl-C too, until this is closed. */
  public static Terminal raw(Scope scope) throws KernelException {
    try (var frame = new Frame()) {
      MemorySegment termios = frame.allocate(TERMIOS_SIZE);
      Frame.check(
          frame.call(IOCTL, Stream.STDIN.number, TCGETS, termios.address()),
          "read the mode of the terminal");
      var terminal = new Terminal(termios.asSlice(0, TERMIOS_SIZE).toArray(JAVA_BYTE));
      makeRaw(termios);
      // ORDER: owned before it is changed, so that it is restored in any case.
      scope.own(terminal);
      write(frame, termios);
      return terminal;
    }
  }

  private static void makeRaw(MemorySegment termios) {
    clear(termios, INPUT_FLAGS, COOKED_INPUT);
    clear(termios, OUTPUT_FLAGS, OPOST);
    clear(termios, LOCAL_FLAGS, COOKED_LOCAL);
    clear(termios, CONTROL_FLAGS, CSIZE_AND_PARENB);
    termios.set(JAVA_INT, CONTROL_FLAGS, termios.get(JAVA_INT, CONTROL_FLAGS) | CS8);
    termios.set(JAVA_BYTE, CONTROL_CHARACTERS + VMIN, (byte) 1);
    termios.set(JAVA_BYTE, CONTROL_CHARACTERS + VTIME, (byte) 0);
  }

  private static void clear(MemorySegment termios, int offset, int bits) {
    termios.set(JAVA_INT, offset, termios.get(JAVA_INT, offset) & ~bits);
  }

  private static void write(Frame frame, MemorySegment termios) throws KernelException {
    Frame.check(
        frame.callThroughInterrupts(IOCTL, Stream.STDIN.number, TCSETS, termios.address()),
        "set the mode of the terminal");
  }

  @Override
  public void close() throws KernelException {
    if (!restored.compareAndSet(false, true)) {
      return;
    }
    try (var frame = new Frame()) {
      MemorySegment termios = frame.allocate(TERMIOS_SIZE);
      MemorySegment.copy(before, 0, termios, JAVA_BYTE, 0, TERMIOS_SIZE);
      write(frame, termios);
    }
  }
}
