package dev.ebb.box;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.MountTable;
import dev.ebb.store.Journal;
import dev.ebb.store.LogDirectory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The directory of a box with its two ledger lines: the output of its commands and, once the box is
 * detached, its record. It is made when something is first written to it.
 *
 * <p>Thread-safe for the public methods; the others are called by the thread that makes or adopts
 * the box, or under its release lock.
 */
public final class BoxDirectory {
  private final BoxId id;
  private final Ledger ledger;
  private final BoxLifecycle lifecycle;
  private final LogDirectory logs;
  private final Journal journal;
  private volatile boolean exists;
  private @Nullable Holding line;
  private @Nullable Holding recordLine;

  BoxDirectory(BoxId id, BoxHost host, BoxLifecycle lifecycle) {
    this.id = id;
    this.lifecycle = lifecycle;
    ledger = host.instance().ledger();
    logs = host.instance().logs(id.value());
    journal = host.records().box(id.value());
  }

  // --- for commands ---

  /** The output of its commands. */
  public LogDirectory logs() {
    return logs;
  }

  /** Returns the record that the next engine reads, if the box is detached. */
  public Journal journal() {
    return journal;
  }

  /** Makes the directory, unless it exists or the end of the box has begun. */
  public void make() throws KernelException {
    lifecycle.ifUp(
        () -> {
          if (!exists) {
            Step.MAKE_LOGS.reach();
            logs.create();
            exists = true;
          }
        });
  }

  // --- for the other parts of the box ---

  Path path() {
    return logs.path();
  }

  boolean exists() {
    return exists;
  }

  Fd open(Scope brief) throws KernelException {
    return Fd.open(brief, path(), Fd.Flag.READ, Fd.Flag.DIRECTORY);
  }

  /** Returns the socket on which init listens for the next engine; empty: it does not listen. */
  Optional<Path> controlSocket() {
    return Optional.of(logs.control())
        .filter(socket -> Files.exists(socket, LinkOption.NOFOLLOW_LINKS));
  }

  // --- the ledger ---

  Ledger.Entry entry() {
    return new Ledger.Entry(Kind.DIRECTORY, path().toString());
  }

  /** Notes its ledger line: the directory may be made from now on. */
  void planned(Holding held) {
    line = held;
  }

  void holdRecord() throws KernelException {
    Step.HOLD_RECORD.reach();
    recordLine = ledger.hold(id.value(), Kind.RECORD, logs.recordFile().toString());
  }

  /** Takes over the ledger line of a directory that another engine may have made. */
  void takeOver(Holding held) {
    line = held;
    exists = true;
  }

  /** Takes over the ledger line that another engine wrote for the record. */
  void takeOverRecord(Holding held) {
    recordLine = held;
  }

  /** Returns whether the directory may exist. */
  boolean isHeld() {
    return line != null && exists;
  }

  /** Returns its lines on the ledger. */
  List<Holding> lines() {
    return Stream.of(line, recordLine).filter(Objects::nonNull).toList();
  }

  /** Removes it with its content, and strikes its lines; returns false if there are none. */
  boolean remove() throws KernelException {
    if (line == null) {
      return false;
    }
    Step.REMOVE_LOGS.reach();
    logs.remove();
    List<Holding> gone = lines();
    Step.STRIKE_LOGS.reach();
    ledger.strike(gone);
    line = null;
    exists = false;
    recordLine = null;
    return true;
  }

  /** Describes a removal that failed with {@code e}, and the mounts that may cause the failure. */
  String whyItStays(Exception e) {
    return whyItStays(path(), e);
  }

  static String whyItStays(Path path, Exception e) {
    String reason = String.valueOf(e.getMessage());
    try {
      List<Path> mounts = MountTable.below(path);
      return mounts.isEmpty() ? reason : reason + "; Ebb did not mount " + mounts;
    } catch (KernelException unknown) {
      return reason;
    }
  }
}
