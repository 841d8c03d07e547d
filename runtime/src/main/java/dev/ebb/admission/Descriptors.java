package dev.ebb.admission;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;

/** The descriptors of this process. */
final class Descriptors {
  private Descriptors() {}

  /** Counts them by kind, without the one that this listing opens. */
  static Map<DescriptorKind, Integer> byKind(Path proc) throws KernelException {
    Path directory = proc.resolve("self/fd");
    String look = "/proc/" + ProcessHandle.current().pid() + "/fd";
    var counts = new EnumMap<DescriptorKind, Integer>(DescriptorKind.class);
    for (Path link : Filesystem.entries(directory)) {
      String target = target(link);
      // A descriptor that was closed meanwhile has no target.
      if (!target.isEmpty() && !target.equals(look)) {
        counts.merge(DescriptorKind.of(target, link), 1, Integer::sum);
      }
    }
    return counts;
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (NoSuchFileException e) {
      return "";
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + link, e);
    }
  }
}
