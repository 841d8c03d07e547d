package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.HostRemedies;
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

  private static final String UID_MAP =
      "root without CAP_SETFCAP cannot be mapped: run as an ordinary user (docker: --user 1000;"
          + " compose: user: \"1000\"; Kubernetes: runAsUser: 1000), or with the capabilities SETUID"
          + " and SETGID";

  private static final String DENIED =
      "a security module forbids it: docker and compose: security-opt apparmor=unconfined, or"
          + " label=disable with SELinux; Kubernetes: appArmorProfile {type: Unconfined}, or"
          + " seLinuxOptions {type: spc_t}";

  private Refusal() {}

  /** What was said, and below it what to do about that here. */
  public static String explain(String said) throws KernelException {
    var remedies = remedies(said, Confinement.ofThisProcess());
    return said + String.join("", remedies.stream().map(remedy -> "\n  " + remedy).toList());
  }

  /** What to do about {@code said}, the words of bwrap; empty when they tell nothing known. */
  public static List<String> remedies(String said, Confinement host) {
    if (said.contains("new namespace")) {
      // Since it would come next, what is missing for /proc, too.
      var remedies = new ArrayList<>(HostRemedies.namespaces(host));
      if (!host.maskedProc().isEmpty()) {
        remedies.add(HostRemedies.MASKED);
      }
      return remedies;
    }
    if (said.contains("setting up uid map")) {
      return List.of(host.appArmorRestricts() ? HostRemedies.APP_ARMOR : UID_MAP);
    }
    if (said.contains("Permission denied") && (said.contains("mount") || isEssential(said))) {
      return List.of(DENIED);
    }
    if (said.contains("mount proc")) {
      return List.of(HostRemedies.MASKED);
    }
    return isEssential(said) && host.seccomp() ? List.of(HostRemedies.SECCOMP) : List.of();
  }

  private static boolean isEssential(String said) {
    return ESSENTIAL.stream().anyMatch(said::contains);
  }
}
