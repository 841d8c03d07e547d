package dev.ebb.init;

import dev.ebb.model.ByteSize;

/**
 * A box for a forkserver to clone: {@code struct order} of init/protocol.h.
 *
 * @param uid in the forkserver's user namespace
 * @param hidesCgroups give the box a cgroup namespace
 * @param disk size of the workspace
 * @param temporary size of /tmp, and of /dev/shm
 * @param hasLeaf the second descriptor is the cgroup of version 2 that init is born in
 * @param tasks how many of the last descriptors are files of version 1
 */
public record CloneOrder(
    String box,
    int uid,
    boolean hidesCgroups,
    ByteSize disk,
    ByteSize temporary,
    boolean hasLeaf,
    int tasks) {}
