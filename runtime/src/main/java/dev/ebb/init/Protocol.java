package dev.ebb.init;

import dev.ebb.kernel.Pidfd;
import dev.ebb.model.BoxText;
import dev.ebb.model.ExecKind;
import dev.ebb.model.OutputLoss;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;

/** The messages between engine and ebb-init; the visible pair of init/protocol.h. */
final class Protocol {
  static final int PROTOCOL_VERSION = 13;
  static final int MESSAGE_MAX = 4 * 1024 * 1024;
  static final int MESSAGE_FDS_MAX = 6;
  static final int NONCE_SIZE = 16;
  static final int OUTPUT_BUFFERED_MAX = 4096;
  static final int WRITE_FILE_MAX = 64 * 1024;
  static final int STARTED_LATE = 10;
  static final int REPORT_MAX = 3600;
  static final int HEADER_SIZE = 16;

  static final int MESSAGE_LAUNCHED = 1;
  static final int MESSAGE_HELLO = 2;
  static final int MESSAGE_UNMADE = 3;
  static final int MESSAGE_READY = 8;
  static final int MESSAGE_TEMPLATE = 9;
  static final int MESSAGE_START = 16;
  static final int MESSAGE_KILL = 17;
  static final int MESSAGE_RESIZE = 18;
  static final int MESSAGE_SIGNAL = 19;
  static final int MESSAGE_DETACH = 20;
  static final int MESSAGE_FORGET = 21;
  static final int MESSAGE_REARM = 22;
  static final int MESSAGE_INVENTORY = 23;
  static final int MESSAGE_LOG_FDS = 24;
  static final int MESSAGE_LISTEN = 25;
  static final int MESSAGE_SPLIT = 26;
  static final int MESSAGE_WRITE_FILE = 27;
  static final int MESSAGE_LIST = 28;
  static final int MESSAGE_AWAIT_START = 29;
  static final int MESSAGE_STARTED = 32;
  static final int MESSAGE_REFUSED = 33;
  static final int MESSAGE_OUTPUT = 34;
  static final int MESSAGE_ENDED = 35;
  static final int MESSAGE_SYNCED = 36;
  static final int MESSAGE_CONTENTS = 37;
  static final int MESSAGE_NEED_LOG = 38;
  static final int MESSAGE_LISTENING = 39;
  static final int MESSAGE_SEGMENT = 40;
  static final int MESSAGE_FILE_WRITTEN = 41;
  static final int MESSAGE_LISTED = 42;

  static final int ORDER_HAS_LEAF = 1;
  static final int ORDER_HIDES_CGROUPS = 2;
  static final int ORDER_FDS_MAX = 12;

  static final int START_HAS_STDIN = 1;
  static final int START_KEEP = 2;
  static final int START_HAS_LEAF = 4;
  static final int START_TERMINAL = 8;
  static final int START_FILE = 16;
  static final int START_BUFFERED = 32;
  static final int START_RESUMED = 64;
  static final int START_SEGMENTS = 128;
  static final int START_LIST = 256;
  static final int START_PIPED = 512;
  static final int START_LEAF_FILES = 1024;

  static final int STEP_REQUEST = 1;
  static final int STEP_CLONE = 2;
  static final int STEP_WORKDIR = 3;
  static final int STEP_LIMITS = 4;
  static final int STEP_EXEC = 5;

  static final int END_BY_ITSELF = 0;
  static final int END_KILLED = 1;
  static final int END_TIMED_OUT = 2;
  static final int END_OUTPUT_LIMIT = 3;
  static final int END_OUT_OF_MEMORY = 4;

  static final int ENDED_STUCK = 1;
  static final int ENDED_TRUNCATED = 2;
  static final int ENDED_UNREAPED = 4;
  static final int ENDED_CROWDED = 8;
  static final int ENDED_STRANGERS = 64;

  private static final int START_REQUEST_SIZE = 80;
  static final int ORDER_SIZE = 64;
  private static final int ORDER_NAME_SIZE = 32;
  private static final Duration FOREVER = Duration.ofDays(36_500);

  private Protocol() {}

  /** A box for the forkserver to make. */
  static byte[] order(CloneOrder order, int fds) {
    byte[] name = BoxText.encode(order.box());
    if (name.length >= ORDER_NAME_SIZE || fds > ORDER_FDS_MAX) {
      throw new IllegalArgumentException(
          "no order for " + order.box() + " with " + fds + " descriptors");
    }
    return buffer(ORDER_SIZE)
        .putInt(
            (order.hasLeaf() ? ORDER_HAS_LEAF : 0)
                | (order.hidesCgroups() ? ORDER_HIDES_CGROUPS : 0))
        .putInt(order.uid())
        .putLong(order.disk().bytes())
        .putLong(order.temporary().bytes())
        .putInt(fds)
        .putInt(order.tasks())
        .put(name)
        .array();
  }

  static String text(ByteBuffer body) {
    byte[] bytes = new byte[body.remaining()];
    body.get(bytes);
    return BoxText.decode(bytes, 0, bytes.length);
  }

  static byte[] detach(Duration deadline) {
    return message(MESSAGE_DETACH, 1, 0, 8).putLong(millis(deadline)).array();
  }

  static byte[] forget(int exec) {
    return message(MESSAGE_FORGET, 0, exec, 0).array();
  }

  static byte[] awaitStart(int exec) {
    return message(MESSAGE_AWAIT_START, 0, exec, 0).array();
  }

  static ByteBuffer buffer(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
  }

  private static ByteBuffer message(int type, int fds, int exec, int bodySize) {
    return buffer(HEADER_SIZE + bodySize)
        .putInt(bodySize)
        .putShort((short) type)
        .putShort((short) fds)
        .putInt(exec)
        .putInt(0);
  }

  /** Starts a command; {@code isPiped}: the last descriptor is its stdout. */
  static byte[] start(int exec, int fds, StartRequest request, boolean isPiped) {
    byte[] strings = strings(request);
    return limits(message(MESSAGE_START, fds, exec, START_REQUEST_SIZE + strings.length), request)
        .putInt(flags(request) | (isPiped ? START_PIPED : 0))
        .putInt(request.command().size())
        .putInt(request.environment().size())
        .putShort((short) rows(request.kind()))
        .putShort((short) columns(request.kind()))
        .put(strings)
        .array();
  }

  /** No more than the limits of {@code request}, and whether to keep what is left. */
  static byte[] rearm(int exec, StartRequest request) {
    return limits(message(MESSAGE_REARM, 0, exec, START_REQUEST_SIZE), request)
        .putInt((request.keep() ? START_KEEP : 0) | (flag(request.kind()) & START_LIST))
        .array();
  }

  private static ByteBuffer limits(ByteBuffer message, StartRequest request) {
    return message
        .putLong(millis(request.timeout()))
        .putLong(millis(request.grace()))
        .putLong(request.outputLimit().bytes())
        .putLong(request.openFiles())
        .putLong(request.fileSize().bytes())
        .putLong(request.share().memory())
        .putLong(request.share().dataSize())
        .putLong(request.share().processes());
  }

  static byte[] listen(int port) {
    return message(MESSAGE_LISTEN, 0, 0, 4).putInt(port).array();
  }

  static byte[] inventory() {
    return message(MESSAGE_INVENTORY, 0, 0, 0).array();
  }

  static byte[] writeFile(String name, int mode, byte[] content) {
    byte[] bytes = BoxText.encode(name);
    return message(MESSAGE_WRITE_FILE, 0, 0, Integer.BYTES + bytes.length + 1 + content.length)
        .putInt(mode)
        .put(bytes)
        .put((byte) 0)
        .put(content)
        .array();
  }

  static byte[] list() {
    return message(MESSAGE_LIST, 0, 0, 0).array();
  }

  static BoxContents contents(ByteBuffer body) {
    return new BoxContents(body.getInt(), body.getInt(), body.getLong(), body.getLong());
  }

  private static int flags(StartRequest request) {
    return (request.hasStdin() ? START_HAS_STDIN : 0)
        | (request.keep() ? START_KEEP : 0)
        | leaf(request.leaf())
        | (request.isBuffered() ? START_BUFFERED : 0)
        | flag(request.kind());
  }

  private static int leaf(LeafHandle.Form form) {
    return switch (form) {
      case NONE -> 0;
      case DIRECTORY -> START_HAS_LEAF;
      case FILES -> START_HAS_LEAF | START_LEAF_FILES;
    };
  }

  private static int flag(ExecKind kind) {
    return switch (kind) {
      case ExecKind.Command() -> 0;
      case ExecKind.Program() -> START_LIST;
      case ExecKind.Terminal _ -> START_TERMINAL;
      case ExecKind.FileOperation() -> START_FILE;
      case ExecKind.Resumption() -> START_RESUMED;
      case ExecKind.Dialogue() -> START_SEGMENTS;
    };
  }

  private static int rows(ExecKind kind) {
    return kind instanceof ExecKind.Terminal(int rows, _) ? rows : 0;
  }

  private static int columns(ExecKind kind) {
    return kind instanceof ExecKind.Terminal(_, int columns) ? columns : 0;
  }

  /** Rounded up: zero means none, and the shortest timeout is still one. */
  private static long millis(Duration duration) {
    return (duration.compareTo(FOREVER) < 0 ? duration : FOREVER).plusNanos(999_999).toMillis();
  }

  private static byte[] strings(StartRequest request) {
    var text = new StringBuilder(request.workdir()).append('\0');
    for (var list : List.of(request.command(), request.environment())) {
      for (String word : list) {
        text.append(word).append('\0');
      }
    }
    return BoxText.encode(text.toString());
  }

  static ExecEvents.Step step(int number) {
    return switch (number) {
      case STEP_REQUEST -> ExecEvents.Step.REQUEST;
      case STEP_CLONE -> ExecEvents.Step.CLONE;
      case STEP_WORKDIR -> ExecEvents.Step.WORKDIR;
      case STEP_LIMITS -> ExecEvents.Step.LIMITS;
      case STEP_EXEC -> ExecEvents.Step.EXEC;
      default -> throw new IllegalArgumentException("init named step " + number);
    };
  }

  static ExecEvents.Reason reason(int number) {
    return switch (number) {
      case END_BY_ITSELF -> ExecEvents.Reason.BY_ITSELF;
      case END_KILLED -> ExecEvents.Reason.KILLED;
      case END_TIMED_OUT -> ExecEvents.Reason.TIMED_OUT;
      case END_OUTPUT_LIMIT -> ExecEvents.Reason.OUTPUT_LIMIT;
      case END_OUT_OF_MEMORY -> ExecEvents.Reason.OUT_OF_MEMORY;
      default -> throw new IllegalArgumentException("init named reason " + number);
    };
  }

  static ExecEvents.Ended ended(ByteBuffer body) {
    var reason = reason(body.getInt());
    int flags = body.getInt();
    boolean exited = body.getInt() == Pidfd.WaitStatus.CLD_EXITED;
    int status = body.getInt();
    long stdout = body.getLong();
    long stderr = body.getLong();
    int logErrno = body.getInt();
    int leftovers = body.getInt();
    var usage = usage(body, (flags & ENDED_CROWDED) != 0);
    long at = body.getLong();
    return new ExecEvents.Ended(
        reason,
        exited,
        status,
        (flags & ENDED_STUCK) != 0,
        (flags & ENDED_TRUNCATED) != 0,
        (flags & ENDED_UNREAPED) != 0,
        stdout,
        stderr,
        loss(body, logErrno),
        leftovers,
        usage,
        at,
        (flags & ENDED_STRANGERS) != 0);
  }

  private static ExecEvents.Usage usage(ByteBuffer body, boolean crowded) {
    var usage =
        new ExecEvents.Usage(
            Duration.of(body.getLong(), ChronoUnit.MICROS), body.getLong(), body.getInt(), crowded);
    var _ = body.getInt();
    return usage;
  }

  static ExecEvents.Written segment(ByteBuffer body) {
    long stdout = body.getLong();
    long stderr = body.getLong();
    boolean truncated = (body.getInt() & ENDED_TRUNCATED) != 0;
    return new ExecEvents.Written(stdout, stderr, truncated, loss(body, body.getInt()));
  }

  private static OutputLoss loss(ByteBuffer body, int errno) {
    return new OutputLoss(body.getLong(), body.getLong(), errno);
  }

  /** The part after the header: the bytes of one stream, then of the other. */
  static void buffered(ByteBuffer body, ExecEvents exec) {
    int stdout = body.getInt();
    int stderr = body.getInt();
    if (stdout < 0 || stderr < 0 || (long) stdout + stderr != body.remaining()) {
      throw new IllegalArgumentException("init sent " + stdout + " and " + stderr + " bytes");
    }
    if (body.hasRemaining()) {
      exec.buffered(bytes(body, stdout), bytes(body, stderr));
    }
  }

  private static byte[] bytes(ByteBuffer body, int size) {
    byte[] bytes = new byte[size];
    body.get(bytes);
    return bytes;
  }

  /** {@code errno} is 0 when two logs come with it. */
  static byte[] logFds(int exec, int errno) {
    return message(MESSAGE_LOG_FDS, errno == 0 ? 2 : 0, exec, 4).putInt(errno).array();
  }

  static byte[] split(int exec) {
    return message(MESSAGE_SPLIT, 0, exec, 0).array();
  }

  static byte[] resize(int exec, ExecKind.Terminal size) {
    return message(MESSAGE_RESIZE, 0, exec, 4)
        .putShort((short) size.rows())
        .putShort((short) size.columns())
        .array();
  }

  static byte[] signal(int exec, int signal) {
    return message(MESSAGE_SIGNAL, 0, exec, 4).putInt(signal).array();
  }

  static byte[] kill(int exec, int signal, Duration grace) {
    return message(MESSAGE_KILL, 0, exec, 16)
        .putInt(signal)
        .putInt(0)
        .putLong(millis(grace))
        .array();
  }
}
