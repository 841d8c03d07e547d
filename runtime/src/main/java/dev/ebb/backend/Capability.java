package dev.ebb.backend;

import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** A feature that the boxes of some backends have and those of others lack. */
public enum Capability {
  /**
   * A cgroup for each command, which counts what the command uses. Without it, only init
   * distinguishes the commands of a box, by their subreapers.
   */
  LEAVES("hold each command in a cgroup of its own"),
  /** Commands can be frozen, by the cgroups of {@link #LEAVES}. */
  FREEZE("pause"),
  /** Init outlives its engine, and the next engine adopts the box. */
  DETACH("detach"),
  /** Access to allowed hosts through the proxy. */
  EGRESS("reach allowed hosts"),
  HOST_NETWORK("use the network of the host"),
  TERMINAL("run a command in a terminal"),
  /** Init itself writes and lists files; without, a command does. */
  FILES("write and list files through init"),
  /** Init takes the inventory of a box, so a pool can prove that nothing used it. */
  INVENTORY("wait in a pool"),
  /** Directories and packages of the host can be shown. */
  MOUNTS("show directories of the host"),
  COPIED_FILES("have files of the host copied in"),
  /** A box has a copy of a prepared process, which the first command can continue. */
  ZYGOTE("continue a prepared process"),
  SNAPSHOT("be saved and restored");

  private static final List<Capability> ALL = List.of(values());

  private final String action;

  Capability(String action) {
    this.action = action;
  }

  /** Returns what a box cannot do without it, as words that follow "cannot". */
  public String action() {
    return action;
  }

  /** Returns its name in reports. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the capabilities that a box of {@code spec} requires. */
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
