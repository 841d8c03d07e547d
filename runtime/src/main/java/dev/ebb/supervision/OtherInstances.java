package dev.ebb.supervision;

import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Tells whether a process belongs to another instance, which may share uids with us and not the
 * list of claims: in a container, say.
 */
final class OtherInstances {
  /** How many pid namespaces a box is away from us. */
  private static final int BOX = 1;

  private static final Pattern INSTANCE = Pattern.compile("ebb-[0-9a-f]{8}");

  private final String instance;

  /** Where we are ourselves, which may be in a cgroup of another instance. */
  private final List<String> ours = ProcFs.cgroups(ProcessRef.self().pid());

  /**
   * Looks from one instance.
   *
   * @param instance whose processes are not another's
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
