package dev.ebb.store;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * What must be known of a box by whoever comes after its engine: lines that are added and never
 * changed. Like the ledger it survives kill -9, and need not survive a power loss.
 */
public record Journal(Path path) {
  /** Adds a line, in one write; it costs a descriptor only for that long. */
  public void append(JournalEntry entry) throws KernelException {
    try (var scope = new Scope()) {
      Fd file = Fd.open(scope, path, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.APPEND);
      // What may stand before it is half a line, of a write that failed.
      byte[] bytes = ("\n" + entry.line()).getBytes(StandardCharsets.ISO_8859_1);
      if (file.write(bytes, 0, bytes.length) != bytes.length) {
        throw new KernelException("write all of a line to " + path, Errno.ENOSPC);
      }
    }
  }

  /** Whole lines, in their order; an absent journal has none. */
  public List<JournalEntry> read() throws IOException {
    String text;
    try {
      text = Files.readString(path, StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return List.of();
    }
    return text.lines().map(JournalEntry::parse).flatMap(Optional::stream).toList();
  }

  /** Keeps these lines only; as a whole or not at all. */
  public void rewrite(List<JournalEntry> entries) throws IOException {
    Path next = path.resolveSibling(path.getFileName() + ".new");
    Files.writeString(
        next,
        entries.stream().map(JournalEntry::line).collect(Collectors.joining()),
        StandardCharsets.ISO_8859_1);
    Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
  }
}
