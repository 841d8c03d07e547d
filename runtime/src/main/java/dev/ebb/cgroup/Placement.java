package dev.ebb.cgroup;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Where the first process of a box starts.
 *
 * @param box the cgroup that all of the box lies in, to be killed if its making fails
 * @param init the cgroup of version 2 it is cloned into
 * @param tasks the files of version 1 by which it joins by itself
 */
public record Placement(Optional<Path> box, Optional<Path> init, List<Path> tasks) {
  /** On a host without cgroups. */
  public static final Placement ANYWHERE =
      new Placement(Optional.empty(), Optional.empty(), List.of());

  public Placement {
    tasks = List.copyOf(tasks);
  }
}
