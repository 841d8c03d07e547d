package dev.ebb.backend;

import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** What a backend's boxes may be able to do, and not every backend's can. */
public enum Capability {
  /**
   * A cgroup for each command, which counts what it uses; without, only init tells the commands of
   * a box apart, by their subreapers.
   */
  LEAVES("hold each command in a cgroup of its own"),
  /** Its commands are frozen with the cgroups of {@link #LEAVES}. */
  FREEZE("pause"),
  /** Init outlives its engine and is found by the next. */
  DETACH("detach"),
  /** A way out through the proxy, to allowed hosts. */
  EGRESS("reach allowed hosts"),
  HOST_NETWORK("use the network of the host"),
  TERMINAL("run a command in a terminal"),
  /** Init itself writes and lists files; without, a command does. */
  FILES("write and list files through init"),
  /** Init tells what there is in a box, so that a pool can prove that nothing used it. */
  INVENTORY("wait in a pool"),
  /** Directories and packages of the host are shown. */
  MOUNTS("show directories of the host"),
  COPIED_FILES("have files of the host copied in"),
  /** A box has a copy of a prepared process, which its first command can continue. */
  ZYGOTE("continue a prepared process"),
  SNAPSHOT("be saved and restored");

  private static final List<Capability> ALL = List.of(values());

  private final String action;

  Capability(String action) {
    this.action = action;
  }

  /** What a box cannot do without it, as it follows "cannot". */
  public String action() {
    return action;
  }

  /** As it is named in reports. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Those without which no box of {@code spec} can be made. */
  public static Set<Capability> neededBy(SandboxSpec spec) {
    var needed = EnumSet.noneOf(Capability.class);
    for (Capability each : ALL) {
      if (each.isNeededBy(spec)) {
        needed.add(each);
      }
    }
    return needed;
  }

  private boolean isNeededBy(SandboxSpec spec) {
    return switch (this) {
      case EGRESS -> !spec.network().policy().isEmpty();
      case HOST_NETWORK -> !spec.network().isOwn();
      case MOUNTS -> !spec.mounts().isEmpty() || !spec.packages().isEmpty();
      case COPIED_FILES -> !spec.files().isEmpty();
      case LEAVES, FREEZE, DETACH, TERMINAL, FILES, INVENTORY, ZYGOTE, SNAPSHOT -> false;
    };
  }
}
