package dev.ebb.box;

import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.BoxNamespace;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.egress.Egress;
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
    Makers makers,
    HostUids uids,
    Reaper reaper,
    Egress egress,
    Duration createDeadline) {

  Enclosure enclosure(BoxId id) {
    return hierarchies.mode() == CgroupMode.NONE
        ? new BoxNamespace(id.value())
        : new BoxCgroup(hierarchies, instance.id() + "/" + id, emptyWait, removal);
  }
}
