package dev.ebb.ledger;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The durable list of what may exist on the host.
 *
 * <p>A holding is written before its resource is made and struck out only after its absence was
 * observed, so at every instruction the list is a superset of the truth. Append-only text, a
 * checksum a line; a line torn by a crash was never acted upon and is ignored. Written without
 * sync: it must survive kill -9, and after a power loss nothing it names exists. Thread-safe.
 */
public final class Ledger {
  private static final Logger LOG = System.getLogger(Ledger.class.getName());

  /** Above this the file is started anew. */
  private static final long COMPACT_ABOVE = 1 << 20;

  /** The name of the new file until it is complete. */
  public static final String NEXT = "ledger.new";

  private final OrderedLock lock = new OrderedLock(LockOrder.LEDGER);
  private final Scope scope;
  private final Path path;
  private Fd file;
  private final Map<Long, Holding> holdings = new LinkedHashMap<>();
  private long next = 1;
  private long size;
  private long compactAbove = COMPACT_ABOVE;

  /** Whether the log says already that the file is too long and cannot be compacted. */
  private boolean isReportedTooLong;

  /** The file may end in half a line: a write failed on a full disk. */
  private boolean torn;

  private Ledger(Scope scope, Path path, Fd file) {
    this.scope = scope;
    this.path = path;
    this.file = file;
  }

  /** Starts an empty ledger at {@code path}, which must not exist. */
  public static Ledger create(Scope scope, Path path) throws KernelException {
    return new Ledger(
        scope,
        path,
        Fd.open(scope, path, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.EXCLUSIVE, Fd.Flag.APPEND));
  }

  /** Goes on with the ledger of an instance whose process is dead. */
  public static Ledger resume(Scope scope, Path path) throws KernelException, IOException {
    List<Holding> held = read(path);
    Fd file = Fd.open(scope, path, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.APPEND);
    var ledger = new Ledger(scope, path, file);
    held.forEach(holding -> ledger.holdings.put(holding.number(), holding));
    // Struck lines have numbers too, but nothing refers to those.
    ledger.next = held.stream().mapToLong(Holding::number).max().orElse(0) + 1;
    ledger.size = Files.size(path);
    ledger.torn = true;
    return ledger;
  }

  /** A resource before it has a number. */
  public record Entry(Kind kind, String subject) {}

  /** Writes the lines down, in one write; the resources may be made after this returns. */
  public List<Holding> hold(String box, List<Entry> entries) throws KernelException {
    lock.lock();
    try {
      var added = new ArrayList<Holding>();
      var text = new StringBuilder();
      for (Entry entry : entries) {
        var holding = new Holding(next++, box, entry.kind(), entry.subject());
        added.add(holding);
        text.append(LedgerLine.hold(holding));
      }
      append(text.toString());
      added.forEach(holding -> holdings.put(holding.number(), holding));
      return added;
    } finally {
      lock.unlock();
    }
  }

  public Holding hold(String box, Kind kind, String subject) throws KernelException {
    return hold(box, List.of(new Entry(kind, subject))).getFirst();
  }

  /** Strikes lines out whose resources were observed to be gone. */
  public void strike(Collection<Holding> gone) throws KernelException {
    lock.lock();
    try {
      var text = new StringBuilder();
      for (Holding holding : gone) {
        if (holdings.containsKey(holding.number())) {
          text.append(LedgerLine.strike(holding.number()));
        }
      }
      append(text.toString());
      gone.forEach(holding -> holdings.remove(holding.number()));
      if (size > compactAbove) {
        tryToCompact();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Compacts a file that is too long. After a failure the long file stays valid; the next try comes
   * when it has grown as much again.
   */
  private void tryToCompact() {
    Path next = path.resolveSibling(NEXT);
    try {
      compact(next);
      isReportedTooLong = false;
    } catch (KernelException e) {
      compactAbove = size + COMPACT_ABOVE;
      removeHalf(next, e);
      // Logged once: a disk that is full stays so for long.
      Level level = isReportedTooLong ? Level.DEBUG : Level.WARNING;
      isReportedTooLong = true;
      LOG.log(level, "event=ledger_not_compacted bytes=" + size + " path=" + path + " ignoring", e);
    }
  }

  /** Removes a half-written file, which takes room where there may be none. */
  private static void removeHalf(Path next, KernelException cause) {
    try {
      Filesystem.unlinkIfPresent(next);
    } catch (KernelException e) {
      cause.addSuppressed(e);
    }
  }

  /** Starts the file anew with what is listed; as a whole or not at all. */
  private void compact(Path next) throws KernelException {
    var text = new StringBuilder();
    holdings.values().forEach(holding -> text.append(LedgerLine.hold(holding)));
    try (var building = new Scope()) {
      Step.OPEN_NEXT_LEDGER.reach();
      Filesystem.unlinkIfPresent(next);
      Fd anew =
          Fd.open(building, next, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.EXCLUSIVE, Fd.Flag.APPEND);
      Step.WRITE_NEXT_LEDGER.reach();
      write(anew, text.toString().getBytes(StandardCharsets.UTF_8));
      Step.REPLACE_LEDGER.reach();
      replace(next);
      Step.USE_NEXT_LEDGER.reach();
      building.moveTo(scope);
      Fd old = file;
      file = anew;
      scope.release(old);
    }
    torn = false;
    size = text.length();
    compactAbove = Math.max(COMPACT_ABOVE, 2 * size);
  }

  private void replace(Path next) throws KernelException {
    try {
      Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new KernelException("start " + path + " anew (" + e + ")", Errno.EIO);
    }
  }

  /** Returns what may exist now, in the order it was made. */
  public List<Holding> holdings() {
    lock.lock();
    try {
      return List.copyOf(holdings.values());
    } finally {
      lock.unlock();
    }
  }

  private void append(String text) throws KernelException {
    if (text.isEmpty()) {
      return;
    }
    byte[] bytes = (torn ? "\n" + text : text).getBytes(StandardCharsets.UTF_8);
    torn = true;
    write(file, bytes);
    torn = false;
    size += bytes.length;
  }

  private static void write(Fd file, byte[] bytes) throws KernelException {
    for (int done = 0; done < bytes.length; ) {
      done += file.write(bytes, done, bytes.length - done);
    }
  }

  /** Reads the ledger of an instance that is dead; an absent one lists nothing. */
  public static List<Holding> read(Path path) throws IOException {
    var holdings = new LinkedHashMap<Long, Holding>();
    String text;
    try {
      text = Files.readString(path, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new IOException("cannot read " + path + ": " + e.getMessage(), e);
    }
    for (String line : text.split("\n")) {
      switch (parse(path, line)) {
        case LedgerLine.Held(var holding) -> holdings.put(holding.number(), holding);
        case LedgerLine.Struck(var number) -> holdings.remove(number);
        case LedgerLine.Torn() -> {}
      }
    }
    return List.copyOf(holdings.values());
  }

  /** A line that a newer Ebb wrote cannot be judged here. */
  private static LedgerLine parse(Path path, String line) throws IOException {
    try {
      return LedgerLine.parse(line);
    } catch (RuntimeException e) {
      throw new IOException("cannot use " + path + ": " + e.getMessage(), e);
    }
  }
}
