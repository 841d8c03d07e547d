package dev.ebb.model;

/** The limits of a box; each has a value. */
public record Limits(ByteSize memory, int pids, double cpus, ByteSize disk, ByteSize temporary) {
  /** 512 MiB, 128 processes and threads, all processors, 256 MiB workspace, 64 MiB /tmp. */
  public static Limits defaults() {
    return new Limits(
        ByteSize.mebibytes(512),
        128,
        Runtime.getRuntime().availableProcessors(),
        ByteSize.mebibytes(256),
        ByteSize.mebibytes(64));
  }

  public static final ByteSize LEAST_MEMORY = ByteSize.mebibytes(4);

  public Limits {
    require(memory.bytes() >= LEAST_MEMORY.bytes(), "memory must be at least " + LEAST_MEMORY);
    require(pids >= 1, "pids must be at least 1");
    require(pids <= 1 << 22, "pids must be at most 4194304");
    require(cpus >= 0.01 && cpus <= 4096, "cpus must be between 0.01 and 4096");
    require(disk.bytes() > 0 && temporary.bytes() > 0, "disk and tmp must be more than nothing");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, message);
    }
  }

  public Limits withMemory(ByteSize size) {
    return new Limits(size, pids, cpus, disk, temporary);
  }

  public Limits withPids(int count) {
    return new Limits(memory, count, cpus, disk, temporary);
  }

  public Limits withCpus(double count) {
    return new Limits(memory, pids, count, disk, temporary);
  }

  public Limits withDisk(ByteSize size) {
    return new Limits(memory, pids, cpus, size, temporary);
  }

  public Limits withTemporary(ByteSize size) {
    return new Limits(memory, pids, cpus, disk, size);
  }
}
