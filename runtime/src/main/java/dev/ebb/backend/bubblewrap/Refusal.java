package dev.ebb.backend.bubblewrap;

import dev.ebb.kernel.KernelException;
import dev.ebb.process.Confinement;
import java.util.ArrayList;
import java.util.List;

/**
 * What a host must grant, said by what bwrap could not do. Each of these was seen: see
 * docs/containers.md.
 */
public final class Refusal {
  /** What bwrap says when one of the calls fails that it cannot do without. */
  private static final List<String> ESSENTIAL =
      List.of("unshare user ns", "make / slave", "pivot_root", "unmount old root", "set hostname");

  private static final String SECCOMP =
      "a seccomp filter forbids it: docker and compose: security-opt"
          + " seccomp=dist/container/seccomp.json; Kubernetes: seccompProfile {type: Localhost,"
          + " localhostProfile: ebb.json} with that file";

  public static final String MASKED =
      "parts of /proc are masked, so no new one may be mounted: docker and compose: security-opt"
          + " systempaths=unconfined; Kubernetes: procMount: Unmasked and hostUsers: false";

  private static final String UID_MAP =
      "root without CAP_SETFCAP cannot be mapped: run as an ordinary user (docker: --user 1000;"
          + " compose: user: \"1000\"; Kubernetes: runAsUser: 1000), or with the capabilities SETUID"
          + " and SETGID";

  private static final String DENIED =
      "a security module forbids it: docker and compose: security-opt apparmor=unconfined, or"
          + " label=disable with SELinux; Kubernetes: appArmorProfile {type: Unconfined}, or"
          + " seLinuxOptions {type: spc_t}";

  private static final String APP_ARMOR =
      "AppArmor leaves user namespaces without privileges: sysctl"
          + " kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap that says"
          + " userns";

  private Refusal() {}

  /** What was said, and below it what to do about that here. */
  static String explain(String said) throws KernelException {
    var remedies = remedies(said, Confinement.ofThisProcess());
    return said + String.join("", remedies.stream().map(remedy -> "\n  " + remedy).toList());
  }

  /** What to do about {@code said}, the words of bwrap; empty when they tell nothing known. */
  public static List<String> remedies(String said, Confinement host) {
    if (said.contains("new namespace")) {
      // Since it would come next, what is missing for /proc, too.
      var remedies = new ArrayList<>(namespaces(host));
      if (!host.maskedProc().isEmpty()) {
        remedies.add(MASKED);
      }
      return remedies;
    }
    if (said.contains("setting up uid map")) {
      return List.of(host.appArmorRestricts() ? APP_ARMOR : UID_MAP);
    }
    if (said.contains("Permission denied") && (said.contains("mount") || isEssential(said))) {
      return List.of(DENIED);
    }
    if (said.contains("mount proc")) {
      return List.of(MASKED);
    }
    return isEssential(said) && host.seccomp() ? List.of(SECCOMP) : List.of();
  }

  private static boolean isEssential(String said) {
    return ESSENTIAL.stream().anyMatch(said::contains);
  }

  /** What is missing for user namespaces. */
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
