package dev.ebb.init;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import java.time.Duration;
import java.util.List;

/**
 * A request to init to start a command.
 *
 * @param environment lines of {@code NAME=value}
 * @param timeout zero for none
 * @param keep leave daemonised children alive when the command ends
 * @param leaf how its cgroup is handed over; without one it gets a subreaper
 * @param isBuffered no logs come with it: init buffers and sends the output, until that is too much
 * @param share the limits that init enforces
 */
public record StartRequest(
    List<String> command,
    List<String> environment,
    String workdir,
    Duration timeout,
    Duration grace,
    ByteSize outputLimit,
    int openFiles,
    ByteSize fileSize,
    boolean hasStdin,
    boolean keep,
    LeafHandle.Form leaf,
    boolean isBuffered,
    ExecKind kind,
    Share share) {

  /**
   * Limits of the box where no cgroup holds them; 0 where one does.
   *
   * @param memory of all its processes, looked at now and then
   * @param dataSize of each of them, at once
   * @param processes and threads, beside Ebb's own
   */
  public record Share(long memory, long dataSize, long processes) {
    public static final Share BY_CGROUP = new Share(0, 0, 0);
  }
}
