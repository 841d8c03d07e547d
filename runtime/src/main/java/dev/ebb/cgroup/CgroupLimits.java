package dev.ebb.cgroup;

/** What the cgroups of one box allow its commands together. */
public record CgroupLimits(ByteSize memory, long pids, double cpus) {}
