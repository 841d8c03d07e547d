package dev.ebb.admission;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The kind of object that a descriptor refers to. */
public enum DescriptorKind {
  SOCKET,
  PIPE,
  PIDFD,
  EVENTFD,
  EPOLL,
  INOTIFY,
  REGULAR,
  /** A file without a name. */
  DELETED,
  OTHER;

  private static final String DELETED_MARK = " (deleted)";

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the kind of a descriptor by its link in /proc/PID/fd.
   *
   * @param target what the link points to
   * @param link the link itself
   */
  static DescriptorKind of(String target, Path link) {
    int end = Math.max(0, target.indexOf(':'));
    return switch (target.substring(0, end)) {
      case "socket" -> SOCKET;
      case "pipe" -> PIPE;
      // KERNEL: since 6.9 a pidfd is a file of a file system of its own.
      case "pidfd" -> PIDFD;
      case "anon_inode" -> anonymous(target.substring(end + 1));
      case "/memfd" -> OTHER;
      default -> file(target, link);
    };
  }

  private static DescriptorKind anonymous(String name) {
    return switch (name) {
      case "[pidfd]" -> PIDFD;
      case "[eventfd]" -> EVENTFD;
      case "[eventpoll]" -> EPOLL;
      case "inotify", "[inotify]" -> INOTIFY;
      default -> OTHER;
    };
  }

  private static DescriptorKind file(String target, Path link) {
    if (target.endsWith(DELETED_MARK)) {
      return DELETED;
    }
    return Files.isRegularFile(link) ? REGULAR : OTHER;
  }
}
