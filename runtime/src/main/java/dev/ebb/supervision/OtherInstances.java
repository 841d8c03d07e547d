package dev.ebb.supervision;

import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Determines whether a process belongs to another instance. That instance may share uids with us
 * but not the list of claims, for example in a container.
 */
final class OtherInstances {
  /** A box is this many pid namespaces below its engine. */
  private static final int BOX = 1;

  private static final Pattern INSTANCE = Pattern.compile("ebb-[0-9a-f]{8}");

  private final String instance;

  /** The cgroups of this process, which may lie in a cgroup of another instance. */
  private final List<String> ours = ProcFs.cgroups(ProcessRef.self().pid());

  /**
   * Sees other instances from one.
   *
   * @param instance the instance whose processes are its own
   */
  OtherInstances(String instance) {
    this.instance = instance;
  }

  /**
   * SAFETY: it is in the cgroup of another instance, or in a box that is further away than ours.
   */
  boolean have(int pid) {
    return ProcFs.cgroups(pid).stream()
            .filter(path -> !ours.contains(path))
            .flatMap(path -> Arrays.stream(path.split("/")))
            .anyMatch(this::isAnothersName)
        || ProcFs.depth(pid) > BOX;
  }

  private boolean isAnothersName(String name) {
    return INSTANCE.matcher(name).lookingAt() && !name.startsWith(instance);
  }
}
