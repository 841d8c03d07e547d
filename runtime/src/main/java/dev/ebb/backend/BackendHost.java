package dev.ebb.backend;

import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.init.Discards;
import dev.ebb.init.InitBinary;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.process.Reaper;
import dev.ebb.store.Instance;

/**
 * The parts of an engine that a backend may use.
 *
 * @param scope the engine's own
 */
public record BackendHost(
    Scope scope,
    Instance instance,
    Hierarchies hierarchies,
    Poller poller,
    EmptyWait emptyWait,
    CgroupRemoval removal,
    InitBinary binary,
    Discards discards,
    UidLoan uids,
    Reaper reaper) {}
