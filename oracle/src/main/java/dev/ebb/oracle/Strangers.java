package dev.ebb.oracle;

import dev.ebb.kernel.Self;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Resources that an ordinary user cannot have left: files of others, mounts, loop devices. This
 * user cannot inspect their owners either, so only this identifies them as a neighbour's. Root may
 * have made anything.
 */
public final class Strangers {
  private static final int SELF = Self.uid();

  private Strangers() {}

  /** Resources that only root can make. */
  static boolean madeWhatRootMakes() {
    return SELF != 0;
  }

  /**
   * A file of another user, or in a directory that is closed to us; of a file that is gone, the
   * directory that is left tells.
   */
  public static boolean made(Path file) throws IOException {
    if (SELF == 0) {
      return false;
    }
    for (Path at = file; at != null; at = at.getParent()) {
      try {
        return (int) Files.getAttribute(at, "unix:uid", LinkOption.NOFOLLOW_LINKS) != SELF;
      } catch (AccessDeniedException e) {
        return true;
      } catch (IOException e) {
        if (!Proc.isGone(e)) {
          throw e;
        }
      }
    }
    return false;
  }
}
