package dev.ebb.backend;

import dev.ebb.cgroup.Placement;
import dev.ebb.kernel.Scope;

/**
 * A box to be made.
 *
 * @param scope owns what the attempt opens
 * @param box its id
 * @param uid of its processes, on the host
 * @param isNamed the caller requires this backend
 */
public record LaunchOrder(
    Scope scope, String box, SandboxSpec spec, Placement placement, int uid, boolean isNamed) {}
