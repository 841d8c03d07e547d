package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Path;

/** Recognizes resources that look like ours but belong to other runtimes on the same host. */
public interface Neighbours {
  /** A process that does not descend from this one, but has an identity of Ebb's. */
  boolean own(ProcessEntry process, ProcessTable processes) throws IOException;

  /**
   * A cgroup below one with a name of ours, or the claim of an instance.
   *
   * @param instance the topmost name of ours on the way to it
   */
  boolean ownCgroup(Path directory, String instance, ProcessTable processes) throws IOException;

  /** A mount, or the file behind a loop device. */
  boolean ownMounted(String path, ProcessTable processes) throws IOException;

  /** A unix socket with this name is worth a look at all. */
  default boolean mayHaveNamed(String path) {
    return path.contains("ebb");
  }

  /** A unix socket by its name and inode. */
  boolean ownSocket(String path, String inode, ProcessTable processes) throws IOException;

  /** Shared memory of this user. */
  boolean ownMemoryOf(int uid);
}
