package dev.ebb.process;

import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The mounts of our own mount namespace. */
public final class MountTable {
  /** KERNEL: proc(5), mountinfo: number, parent, device, root, mount point, … */
  private static final int MOUNT_POINT = 4;

  private static final Pattern ESCAPE = Pattern.compile("\\\\([0-7]{3})");

  private MountTable() {}

  /** Returns the mounts on {@code directory} and below it. */
  public static List<Path> below(Path directory) throws KernelException {
    return below(Filesystem.read(Path.of("/proc/self/mountinfo")), directory);
  }

  static List<Path> below(String mountinfo, Path directory) {
    return mountinfo
        .lines()
        .map(line -> path(line.split(" ")[MOUNT_POINT]))
        .filter(path -> path.startsWith(directory))
        .toList();
  }

  /** KERNEL: blanks, newlines and backslashes are printed as three octal digits each. */
  public static Path path(String printed) {
    String bytes =
        ESCAPE
            .matcher(printed)
            .replaceAll(
                found ->
                    Matcher.quoteReplacement(
                        Character.toString(Integer.parseInt(found.group(1), 8))));
    return Path.of(new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8));
  }
}
