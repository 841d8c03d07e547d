package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A journal in a file, one line per entry. Like the ledger it survives kill -9, and need not
 * survive a power loss. Thread-safe; each file has one writer.
 */
public final class FileJournal implements Journal {
  /** Above this size the file is rewritten without forgotten entries. */
  private static final long COMPACT_ABOVE = 1 << 20;

  private final OrderedLock lock = new OrderedLock(LockOrder.JOURNAL);
  private final Path path;
  private long compactAbove = COMPACT_ABOVE;

  public FileJournal(Path path) {
    this.path = path;
  }

  Path path() {
    return path;
  }

  /** Adds a line in one write; the file is open only during the write. */
  @Override
  public void append(JournalEntry entry) throws KernelException {
    lock.lock();
    try (var scope = new Scope()) {
      Fd file = Fd.open(scope, path, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.APPEND);
      // A partial line of a failed write may precede it.
      byte[] bytes = ("\n" + entry.line()).getBytes(StandardCharsets.ISO_8859_1);
      if (file.write(bytes, 0, bytes.length) != bytes.length) {
        throw new KernelException("write all of a line to " + path, Errno.ENOSPC);
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void forget(int number) throws KernelException, IOException {
    lock.lock();
    try {
      append(Contents.forgotten(number));
      if (Files.size(path) > compactAbove) {
        rewrite(contents());
        compactAbove = Math.max(COMPACT_ABOVE, 2 * Files.size(path));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Skips other entries without parsing them, to save time. */
  @Override
  public Optional<JournalEntry> find(String about) throws IOException {
    return text()
        .lines()
        .filter(line -> line.contains(" " + about))
        .flatMap(line -> JournalEntry.parse(line).stream())
        .filter(entry -> entry.about().equals(about))
        .findFirst();
  }

  private String text() throws IOException {
    try {
      return Files.readString(path, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return "";
    }
  }

  @Override
  public Contents contents() throws IOException {
    return Contents.of(text().lines().flatMap(line -> JournalEntry.parse(line).stream()).toList());
  }

  /**
   * Replaces the file by these entries, whole or not at all. Keeps the highest number, so that none
   * is used again.
   */
  private void rewrite(Contents contents) throws IOException {
    Path next = path.resolveSibling(path.getFileName() + ".new");
    var lines = new ArrayList<>(contents.entries());
    if (contents.highest() > 0) {
      lines.addFirst(Contents.forgotten(contents.highest()));
    }
    Files.writeString(
        next,
        lines.stream().map(JournalEntry::line).collect(Collectors.joining()),
        StandardCharsets.ISO_8859_1);
    Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
  }
}
