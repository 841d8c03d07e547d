package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;

/**
 * The disk use of a directory, without the length of files in which a daemon describes itself.
 *
 * @param inodes the number of files and directories
 * @param bytes the sum of the file lengths
 */
public record DiskUse(long inodes, long bytes) {
  /** Also the files in which a daemon describes itself: the length of its pid varies. */
  private static final Set<String> VARYING =
      Set.of("daemon.log", "ledger", "daemon", "instance", "history");

  /** Made by the first box that a daemon removes, and bounded. */
  private static final String CERTIFICATES = "certificates";

  public static DiskUse of(Path directory) throws IOException {
    long inodes = 0;
    long bytes = 0;
    var open = new ArrayDeque<>(List.of(directory));
    while (!open.isEmpty()) {
      for (Path entry : Proc.list(open.remove())) {
        if (entry.endsWith(CERTIFICATES)) {
          continue;
        }
        inodes++;
        if (Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS)) {
          open.add(entry);
        } else if (!VARYING.contains(String.valueOf(entry.getFileName()))) {
          bytes += size(entry);
        }
      }
    }
    return new DiskUse(inodes, bytes);
  }

  private static long size(Path file) throws IOException {
    try {
      return (long) Files.getAttribute(file, "size", LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      if (Proc.isGone(e)) {
        return 0;
      }
      throw e;
    }
  }

  public List<Trace> growthSince(DiskUse baseline) {
    boolean grown = inodes > baseline.inodes || bytes > baseline.bytes;
    return grown
        ? List.of(
            new Trace(
                Invariant.I10,
                "disk use",
                "disk use",
                "%d files of %d bytes, the baseline is %d of %d"
                    .formatted(inodes, bytes, baseline.inodes, baseline.bytes)))
        : List.of();
  }
}
