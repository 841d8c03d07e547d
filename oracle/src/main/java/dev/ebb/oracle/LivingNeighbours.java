package dev.ebb.oracle;

import dev.ebb.kernel.Self;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Counts what belongs to a living process that we did not start as that process's own; what belongs
 * to no process is ours, if it looks like that.
 */
public class LivingNeighbours implements Neighbours {
  public LivingNeighbours() {}

  /** An instance, perhaps dead by now, of a home that is not ours. */
  protected boolean ownInstance(String id) throws IOException {
    return false;
  }

  /** RACE: a parent may end while the table is read; then the name of the cgroup decides. */
  @Override
  public boolean own(ProcessEntry process, ProcessTable processes) {
    return processes.isNeighbours(process) || processes.isNeighboursPath(process.cgroup());
  }

  @Override
  public boolean ownCgroup(Path directory, String instance, ProcessTable processes)
      throws IOException {
    return Strangers.made(directory)
        || processes.isNeighboursName(instance)
        || processes.neighboursHold("/instances/" + instance + "/")
        || ownInstance(instance);
  }

  @Override
  public boolean ownMounted(String path, ProcessTable processes) {
    return Strangers.madeWhatRootMakes() || processes.isNeighboursPath(path);
  }

  @Override
  public boolean ownSocket(String path, String inode, ProcessTable processes) throws IOException {
    // KERNEL: one that is not accepted yet has no inode to be held by.
    return processes.isNeighboursPath(path)
        || processes.neighboursHold("socket:[" + inode + "]")
        || Strangers.made(Path.of(path));
  }

  @Override
  public boolean ownMemoryOf(int uid) {
    return uid != Self.uid() && !BoxUids.contains(uid);
  }
}
