package dev.ebb.exec;

import dev.ebb.backend.Sandbox;
import dev.ebb.box.ExecSite;
import dev.ebb.init.ExecEvents;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecResult;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The output of one exec: its segments and the files that init writes them to. Thread-safe. */
final class ExecOutput {
  private static final Logger LOG = System.getLogger(ExecOutput.class.getName());

  private final ExecSite site;
  private final int exec;
  private final ExecKind kind;
  private final OrderedLock lock;
  private final Condition changed;

  /** The segment that the command writes now. */
  private volatile Segment segment;

  private int segments;
  private @Nullable PipedOutput pipe;

  /** Init buffers the output until it asks for logs. */
  private boolean isBuffered;

  private boolean isAdopted;

  /** The entries of the workspace at the end, if init sent them. */
  private volatile byte @Nullable [] workspace;

  /** A message to init. */
  interface Message {
    void sendTo(Sandbox sandbox) throws KernelException;
  }

  ExecOutput(ExecSite site, int exec, ExecKind kind, OrderedLock lock, Condition changed) {
    this.site = site;
    this.exec = exec;
    this.kind = kind;
    this.lock = lock;
    this.changed = changed;
    isBuffered = isBufferedFirst(kind, site.isDetached());
    segment = new Segment(site.directory().logs(), exec, 0, lock, changed);
  }

  /**
   * Returns whether init buffers the first bytes, since most commands write few: not in a box that
   * may outlive this engine, unless the command ends with the engine in any case.
   */
  private static boolean isBufferedFirst(ExecKind kind, boolean isDetached) {
    return switch (kind) {
      case ExecKind.Terminal _ -> false;
      case ExecKind.Dialogue() -> true;
      case ExecKind.Command(),
          ExecKind.Program(),
          ExecKind.FileOperation(),
          ExecKind.Resumption() ->
          !isDetached;
    };
  }

  Segment segment() {
    return segment;
  }

  boolean isBuffered() {
    return isBuffered;
  }

  Optional<PipedOutput> pipe() {
    return Optional.ofNullable(pipe);
  }

  /** Makes an output whose stdout goes through a pipe and is not stored. */
  void usePipe(PipedOutput output) {
    pipe = output;
    isBuffered = true;
  }

  /** Takes over the output of a command of an earlier engine, which may have recorded its end. */
  void adopt(Optional<ExecResult> end) throws IOException {
    isAdopted = true;
    if (end.isPresent()) {
      ExecResult last = end.get();
      segment.expectFiles();
      segment.end(last.stdoutSize(), last.stderrSize(), last.truncated(), last.loss());
    } else {
      segment.find();
    }
  }

  /**
   * Returns the logs; none if init buffers, or if no log can be made now: short output needs none.
   */
  List<Fd> firstLogs(Scope passing) throws KernelException {
    if (isBuffered) {
      return List.of();
    }
    try {
      return makeLogs(passing);
    } catch (KernelException e) {
      if (kind instanceof ExecKind.Terminal || !site.isAlive()) {
        throw e;
      }
      LOG.log(Level.WARNING, "event=logs_not_made box=" + site.id() + " exec=" + exec, e);
      isBuffered = true;
      return List.of();
    }
  }

  private List<Fd> makeLogs(Scope passing) throws KernelException {
    site.directory().make();
    return segment.create(passing);
  }

  /** Called when init asks for logs; it may ask again before it has them. */
  void onNeedLog(Consumer<Message> init) {
    if (segment.isFilledFirst()) {
      Thread.ofVirtual().name("ebb-logs-" + site.id() + "-" + exec).start(() -> sendLogs(init));
    }
  }

  /** ORDER: init waits for an answer even after a failure here; it counts what it cannot store. */
  private void sendLogs(Consumer<Message> init) {
    try (var passing = new Scope()) {
      if (isAdopted) {
        // The previous engine may have made them and died before it sent them.
        segment.remove();
      }
      List<Fd> logs = makeLogs(passing);
      init.accept(sandbox -> sandbox.giveLogs(exec, logs.getFirst(), logs.getLast()));
    } catch (KernelException | RuntimeException e) {
      LOG.log(Level.WARNING, "event=logs_not_made box=" + site.id() + " exec=" + exec, e);
      int why = e instanceof KernelException kernel ? kernel.errno().number() : 0;
      int errno = why == 0 ? Errno.EIO.number() : why;
      init.accept(sandbox -> sandbox.refuseLogs(exec, errno));
    }
  }

  /** ORDER: a reader that sees the end of one segment finds the next. */
  void onSegment(ExecEvents.Written written) {
    Segment last = segment;
    segment = new Segment(site.directory().logs(), exec, ++segments, lock, changed);
    last.end(written.stdoutSize(), written.stderrSize(), written.truncated(), written.loss());
  }

  void onWorkspace(byte[] entries) {
    workspace = entries;
  }

  /**
   * The entries of the workspace at the end, see init/protocol.h; can be called once, to save
   * memory. Empty if init has not sent them.
   */
  Optional<byte[]> takeWorkspace() {
    Optional<byte[]> taken = Optional.ofNullable(workspace);
    workspace = null;
    return taken;
  }
}
