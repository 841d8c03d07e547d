package dev.ebb.engine;

import dev.ebb.box.BoxSpec;
import dev.ebb.box.SandboxException;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.exec.ExecSpec;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.process.ExitCause;
import dev.ebb.store.Home;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Looks at the host, runs a real box, and tells what works, what is degraded, and what to do. */
public final class Doctor {
  private static final int CAP_SYS_RESOURCE = 24;

  private Doctor() {}

  /** How serious a finding is. */
  public enum Verdict {
    OK,
    /** Boxes run, with less than Ebb can do elsewhere. */
    DEGRADED,
    /** Boxes do not run. */
    FAILED;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One thing looked at.
   *
   * @param remedy what to do; empty when nothing need be done
   */
  public record Check(String name, Verdict verdict, String finding, String remedy) {}

  /** Examines the host; the last check ran a box. */
  public static List<Check> examine() throws InterruptedException {
    var checks = new ArrayList<Check>();
    checks.add(new Check("java", Verdict.OK, String.valueOf(Runtime.version()), ""));
    checks.add(kernel());
    checks.add(user());
    checks.add(userNamespaces());
    checks.add(cgroups());
    checks.add(privileges());
    Path home = Home.locate(System.getenv());
    checks.add(new Check("home", Verdict.OK, home.toString(), ""));
    checks.add(box(home));
    return checks;
  }

  private static Check kernel() {
    String release = System.getProperty("os.version");
    return new Check("kernel", Verdict.OK, "Linux " + release, "");
  }

  private static Check user() {
    int uid = Self.uid();
    return uid == 0
        ? new Check("user", Verdict.OK, "root: every box gets a host uid of its own", "")
        : new Check(
            "user", Verdict.FAILED, "uid " + uid + ": boxes need root for now", "run ebb as root");
  }

  private static Check userNamespaces() {
    try {
      Path limit = Path.of("/proc/sys/user/max_user_namespaces");
      long max = Long.parseLong(Filesystem.read(limit).strip());
      return max > 0
          ? new Check("namespaces", Verdict.OK, "user namespaces allowed: " + max, "")
          : new Check(
              "namespaces",
              Verdict.FAILED,
              "user namespaces are switched off",
              "sysctl user.max_user_namespaces=10000");
    } catch (KernelException e) {
      return new Check(
          "namespaces",
          Verdict.FAILED,
          "this kernel has no user namespaces",
          "use a kernel with CONFIG_USER_NS");
    }
  }

  private static Check cgroups() {
    try {
      Hierarchies hierarchies = Hierarchies.detect();
      String finding = "mode " + hierarchies.mode().word() + ": " + hierarchies.reason();
      if (hierarchies.mode() == CgroupMode.NONE) {
        return new Check(
            "cgroups",
            Verdict.DEGRADED,
            finding
                + "; so limits hold by process, memory is looked at 20 times a second, processor"
                + " time is not limited, and a command costs 3 PIDs",
            "run where cgroups are writable: as root on a host, or in a systemd unit with"
                + " Delegate=yes");
      }
      boolean kill = hierarchies.hasKill();
      return new Check(
          "cgroups",
          kill ? Verdict.OK : Verdict.DEGRADED,
          finding + (kill ? "" : "; no cgroup.kill, members are frozen and killed one by one"),
          kill ? "" : "use Linux 5.14 or newer");
    } catch (IOException e) {
      return new Check("cgroups", Verdict.FAILED, "cannot be read: " + e.getMessage(), "");
    }
  }

  private static Check privileges() {
    try {
      String status = Filesystem.read(Path.of("/proc/self/status"));
      long effective =
          status
              .lines()
              .filter(line -> line.startsWith("CapEff:"))
              .map(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
              .findFirst()
              .orElse(0L);
      boolean resource = (effective >> CAP_SYS_RESOURCE & 1) != 0;
      return resource
          ? new Check("privileges", Verdict.OK, "CAP_SYS_RESOURCE present", "")
          : new Check(
              "privileges",
              Verdict.DEGRADED,
              "no CAP_SYS_RESOURCE: hard limits cannot be raised above Ebb's own",
              "grant it, or raise the limits of the shell that starts ebb");
    } catch (KernelException e) {
      return new Check("privileges", Verdict.FAILED, "cannot be read: " + e.getMessage(), "");
    }
  }

  /** The only proof that counts. */
  private static Check box(Path home) throws InterruptedException {
    try (Engine engine = Engine.open(home)) {
      var run =
          engine.run(BoxSpec.defaults(), ExecSpec.of("/bin/sh", "-c", "[ $$ -le 3 ] && id -u"));
      String output = run.stdout().text().strip().replace('\n', ' ');
      boolean ran = run.result().cause().equals(new ExitCause.Exited(0)) && output.equals("1000");
      if (ran && run.certificate().isClean()) {
        return new Check(
            "box",
            Verdict.OK,
            "a box ran in " + run.result().wall().toMillis() + " ms; " + run.certificate(),
            "");
      }
      return new Check(
          "box",
          Verdict.FAILED,
          "a box ran, but not as it should: "
              + run.result().cause()
              + ", said \""
              + output
              + "\"; "
              + run.certificate(),
          "report this");
    } catch (SandboxException e) {
      return new Check(
          "box", Verdict.FAILED, String.valueOf(e.getMessage()), "mend what failed above");
    }
  }
}
