package dev.ebb.backend;

import dev.ebb.process.Confinement;
import java.util.ArrayList;
import java.util.List;

/** Remedies for a host where a process cannot make namespaces, see docs/containers.md. */
public final class HostRemedies {
  public static final String SECCOMP =
      "a seccomp filter forbids it: docker and compose: security-opt"
          + " seccomp=dist/container/seccomp.json; Kubernetes: seccompProfile {type: Localhost,"
          + " localhostProfile: ebb.json} with that file";

  public static final String MASKED =
      "parts of /proc are masked, so no new one may be mounted: docker and compose: security-opt"
          + " systempaths=unconfined; Kubernetes: procMount: Unmasked and hostUsers: false";

  public static final String APP_ARMOR =
      "AppArmor leaves user namespaces without privileges: sysctl"
          + " kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap that says"
          + " userns";

  private HostRemedies() {}

  /** Returns the remedies for missing user namespaces. */
  public static List<String> namespaces(Confinement host) {
    var remedies = new ArrayList<String>();
    if (host.userNamespaces() == 0) {
      remedies.add("user namespaces are switched off: sysctl user.max_user_namespaces=10000");
    } else if (!host.unprivilegedClone()) {
      remedies.add("user namespaces are for root only: sysctl kernel.unprivileged_userns_clone=1");
    } else {
      if (host.namespacesFiltered()) {
        remedies.add(SECCOMP);
      }
      if (host.appArmorRestricts()) {
        remedies.add(APP_ARMOR);
      }
    }
    return remedies;
  }
}
