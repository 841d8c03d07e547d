package dev.ebb.model;

/**
 * A file that is in the workspace of a new box before anything runs there.
 *
 * @param name without a directory
 * @param mode permissions
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record FirstFile(String name, int mode, byte[] content) {
  private static final int NAME_MAX = 255;

  public FirstFile {
    if (!isName(name)) {
      throw new IllegalArgumentException("no name of a file in the workspace: " + name);
    }
  }

  /** Returns whether the name is valid: short enough for a file system, and without a directory. */
  public static boolean isName(String name) {
    return !name.isEmpty()
        && name.length() <= NAME_MAX
        && name.chars().noneMatch(c -> c == '/' || c == '\0');
  }
}
