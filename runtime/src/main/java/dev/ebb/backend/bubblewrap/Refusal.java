package dev.ebb.backend.bubblewrap;

import dev.ebb.backend.HostRemedies;
import dev.ebb.kernel.KernelException;
import dev.ebb.process.Confinement;
import java.util.ArrayList;
import java.util.List;

/**
 * Derives from an error of bwrap what a host must grant. Each of these errors has been observed,
 * see docs/containers.md.
 */
public final class Refusal {
  /** The messages of bwrap when an essential call fails. */
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

  /** Returns the message, followed by the remedies. */
  public static String explain(String error) throws KernelException {
    var remedies = remedies(error, Confinement.ofThisProcess());
    return error + String.join("", remedies.stream().map(remedy -> "\n  " + remedy).toList());
  }

  /** Returns what to do about {@code error}, a message of bwrap; empty if it is unknown. */
  public static List<String> remedies(String error, Confinement host) {
    if (error.contains("new namespace")) {
      // The next error would be that of /proc, so its remedy is included.
      var remedies = new ArrayList<>(HostRemedies.namespaces(host));
      if (!host.maskedProc().isEmpty()) {
        remedies.add(HostRemedies.MASKED);
      }
      return remedies;
    }
    if (error.contains("setting up uid map")) {
      return List.of(host.appArmorRestricts() ? HostRemedies.APP_ARMOR : UID_MAP);
    }
    if (error.contains("Permission denied") && (error.contains("mount") || isEssential(error))) {
      return List.of(DENIED);
    }
    if (error.contains("mount proc")) {
      return List.of(HostRemedies.MASKED);
    }
    return isEssential(error) && host.seccomp() ? List.of(HostRemedies.SECCOMP) : List.of();
  }

  private static boolean isEssential(String error) {
    return ESSENTIAL.stream().anyMatch(error::contains);
  }
}
