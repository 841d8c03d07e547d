package dev.ebb.box;

import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.process.Reaper;
import dev.ebb.store.Instance;
import java.time.Duration;

/**
 * What boxes of one runtime have in common.
 *
 * @param scope the runtime's own
 * @param createDeadline how long making a box may take
 */
public record BoxHost(
    Scope scope,
    Instance instance,
    Hierarchies hierarchies,
    Poller poller,
    EmptyWait emptyWait,
    CgroupRemoval removal,
    Bubblewrap bubblewrap,
    HostUids uids,
    Reaper reaper,
    Duration createDeadline) {

  BoxCgroup cgroup(BoxId id) {
    return new BoxCgroup(hierarchies, instance.id() + "/" + id, emptyWait, removal);
  }

  /** KERNEL: /proc/PID/cgroup shows where a process, or a zombie, is below the root we see. */
  boolean isInBox(String cgroupPath, BoxId id) {
    return cgroupPath.startsWith("/" + instance.id() + "/" + id + "/");
  }
}
