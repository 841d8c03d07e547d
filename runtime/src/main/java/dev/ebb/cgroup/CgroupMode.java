package dev.ebb.cgroup;

import java.util.Locale;

/** How this host lets us use cgroups. */
public enum CgroupMode {
  /** The unified hierarchy with its controllers. */
  V2,
  /** Kill, freeze and events from cgroup2, limits from v1 controllers. */
  HYBRID,
  /** No writable cgroups. */
  NONE;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
