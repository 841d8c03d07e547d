package dev.ebb.cli.files;

import java.util.Optional;

/**
 * One side of {@code ebb cp}.
 *
 * @param box empty for the host
 */
record CopyPath(Optional<String> box, String path) {
  /** A path with a colon before its first slash is in a box; {@code ./a:b} is on the host. */
  static CopyPath parse(String text) {
    int colon = text.indexOf(':');
    int slash = text.indexOf('/');
    if (colon <= 0 || text.startsWith(".") || (slash >= 0 && slash < colon)) {
      return new CopyPath(Optional.empty(), text);
    }
    String path = text.substring(colon + 1);
    return new CopyPath(Optional.of(text.substring(0, colon)), path.isEmpty() ? "." : path);
  }

  boolean isHost() {
    return box.isEmpty();
  }

  /** Returns whether the path means the content of the directory, not the directory. */
  boolean meansContent() {
    return path.equals(".") || path.endsWith("/.");
  }

  /** Returns whether the path means a directory. */
  boolean meansDirectory() {
    return path.endsWith("/") || meansContent();
  }

  /** The last part of the path; empty for a root. */
  String name() {
    String bare = path;
    while (bare.endsWith("/")) {
      bare = bare.substring(0, bare.length() - 1);
    }
    return bare.substring(bare.lastIndexOf('/') + 1);
  }

  /** A path below this one. */
  String below(String name) {
    return path.endsWith("/") ? path + name : path + "/" + name;
  }
}
