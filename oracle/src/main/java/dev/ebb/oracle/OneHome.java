package dev.ebb.oracle;

import dev.ebb.kernel.Self;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Counts what belongs to one home as ours, by its path and the names of its instances; all else is
 * foreign. Used on a host where anything else may run at the same time. Thread-safe.
 */
public final class OneHome implements Neighbours {
  private final Path home;
  private final Set<String> instances = ConcurrentHashMap.newKeySet();

  public OneHome(Path home) {
    this.home = home;
  }

  /** Remembers the instances that the home has now. */
  public void learn() throws IOException {
    for (Path directory : Proc.list(home.resolve("instances"))) {
      instances.add(String.valueOf(directory.getFileName()));
    }
  }

  /** Returns every instance that was seen in the home. */
  public Set<String> instances() {
    return Set.copyOf(instances);
  }

  public Path path() {
    return home;
  }

  private boolean isOurs(String instance) {
    return instances.stream()
        .anyMatch(ours -> instance.equals(ours) || instance.startsWith(ours + "-"));
  }

  @Override
  public boolean own(ProcessEntry process, ProcessTable processes) {
    return Arrays.stream(process.cgroup().split("/")).noneMatch(this::isOurs);
  }

  @Override
  public boolean ownCgroup(Path directory, String instance, ProcessTable processes) {
    return !isOurs(instance);
  }

  @Override
  public boolean ownMounted(String path, ProcessTable processes) {
    return !path.contains(home.toString());
  }

  @Override
  public boolean mayHaveNamed(String path) {
    return path.startsWith(home + "/");
  }

  @Override
  public boolean ownSocket(String path, String inode, ProcessTable processes) {
    return !path.startsWith(home + "/");
  }

  /** The boxes of an ordinary user have that user's uid, like all his other processes. */
  @Override
  public boolean ownMemoryOf(int uid) {
    return Self.uid() != 0 || !BoxUids.contains(uid);
  }
}
