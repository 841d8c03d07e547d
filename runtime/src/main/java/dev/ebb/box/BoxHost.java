package dev.ebb.box;

import dev.ebb.backend.Backends;
import dev.ebb.cgroup.BoxCgroup;
import dev.ebb.cgroup.BoxNamespace;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Enclosure;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.egress.Egress;
import dev.ebb.init.Discards;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.Reaper;
import dev.ebb.store.Instance;
import dev.ebb.store.RecordStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The resources that the boxes of one runtime share.
 *
 * @param scope the runtime's own
 * @param createDeadline how long making a box may take
 */
public record BoxHost(
    Scope scope,
    Instance instance,
    RecordStore records,
    Hierarchies hierarchies,
    Poller poller,
    EmptyWait emptyWait,
    CgroupRemoval removal,
    Backends backends,
    Discards discards,
    HostUids uids,
    Reaper reaper,
    Egress egress,
    Patience patience,
    Strangers strangers,
    Duration createDeadline) {
  private static final Duration HEAR_BOUND = Duration.ofSeconds(5);

  /**
   * Processes everything that the boxes of this runtime, and other processes, have sent until now.
   *
   * @return false on a timeout
   */
  public boolean catchUp() throws InterruptedException {
    return poller.catchUp(Deadline.in(HEAR_BOUND));
  }

  /** Returns the enclosure of a box to be made. */
  Enclosure enclosure(BoxId id) {
    return enclosure(id, List.of());
  }

  /**
   * Returns the enclosure of a box that another process may have made, in cgroups below its own.
   *
   * @param listed what the ledger lists for it
   */
  Enclosure enclosure(BoxId id, List<Holding> listed) {
    if (hierarchies.mode() == CgroupMode.NONE) {
      return new BoxNamespace(id.value());
    }
    String name = instance.id() + "/" + id;
    List<Path> made =
        listed.stream()
            .filter(held -> held.kind() == Kind.CGROUP)
            .map(held -> Path.of(held.subject()))
            .toList();
    return new BoxCgroup(hierarchies.asFor(name, made), name, emptyWait, removal);
  }
}
