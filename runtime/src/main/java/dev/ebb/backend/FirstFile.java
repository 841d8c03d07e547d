package dev.ebb.backend;

/**
 * A file that a new box has in its workspace before anything runs there.
 *
 * @param name without a directory
 * @param mode permissions
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
public record FirstFile(String name, int mode, byte[] content) {
  public FirstFile {
    if (!isName(name)) {
      throw new IllegalArgumentException("no name of a file in the workspace: " + name);
    }
  }

  /** Whether it can be one: a directory is none of its parts. */
  public static boolean isName(String name) {
    return !name.isEmpty() && name.chars().noneMatch(c -> c == '/' || c == '\0');
  }
}
