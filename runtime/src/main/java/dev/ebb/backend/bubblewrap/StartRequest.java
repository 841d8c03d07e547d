package dev.ebb.backend.bubblewrap;

import dev.ebb.cgroup.ByteSize;
import java.time.Duration;
import java.util.List;

/**
 * What init needs to start a command.
 *
 * @param environment lines of {@code NAME=value}
 * @param timeout zero for none
 * @param keep leave daemonised children alive when the command ends
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
    boolean keep) {}
