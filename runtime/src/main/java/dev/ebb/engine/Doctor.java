package dev.ebb.engine;

import dev.ebb.admission.Gauges;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Resource;
import dev.ebb.admission.Thresholds;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.Capability;
import dev.ebb.backend.HostLack;
import dev.ebb.backend.HostRemedies;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.KernelFeatures;
import dev.ebb.kernel.KernelFeatures.Lack;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.process.Confinement;
import dev.ebb.process.CorePattern;
import dev.ebb.process.Privileges;
import dev.ebb.process.ProcFs;
import dev.ebb.store.Home;
import dev.ebb.store.UidClaims;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Examines the host, runs a real box, and reports what works, what is degraded, and what to do. */
public final class Doctor {
  /** Beside the existing ones. */
  private static final long FEW_PIDS = 75;

  private static final long FEW_FILES = 256;

  /** Before it, a wake-up of a virtual thread could be lost (JDK-8369227). */
  private static final Runtime.Version WAKES_SURELY = Runtime.Version.parse("25.0.3");

  private Doctor() {}

  /** How serious a finding is. */
  public enum Verdict {
    OK,
    /** Boxes run, with fewer features or less protection. */
    DEGRADED,
    /** Boxes do not run. */
    FAILED;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * One check of the host.
   *
   * @param remedy what to do; empty if nothing
   */
  public record Check(String name, Verdict verdict, String finding, String remedy) {}

  /** Examines the host; the last check runs a box, or tries to. */
  public static List<Check> examine() throws InterruptedException {
    var checks = new ArrayList<Check>();
    checks.add(java(Runtime.version()));
    String release = System.getProperty("os.version");
    checks.add(attempt("kernel", () -> kernel(release, KernelFeatures.missing())));
    checks.add(attempt("bwrap", () -> bwrap(BackendRegistration.BWRAP)));
    checks.add(attempt("user", () -> user(Privileges.ofThisProcess(), UidClaims.arePossible())));
    checks.add(attempt("namespaces", () -> namespaces(Confinement.ofThisProcess())));
    checks.add(attempt("proc", () -> proc(Confinement.ofThisProcess())));
    checks.add(attempt("pids", () -> pids(ofPids())));
    checks.add(attempt("files", () -> files(ProcFs.openFilesLimit())));
    checks.add(attempt("privileges", () -> privileges(Privileges.ofThisProcess())));
    checks.add(attempt("cores", () -> cores(CorePattern.ofThisHost())));
    Path home = Home.locate(System.getenv());
    checks.add(new Check("home", Verdict.OK, home.toString(), ""));
    // ORDER: an engine may move us to another cgroup.
    checks.addAll(lively(cgroups()));
    return checks;
  }

  interface Look {
    Check at() throws KernelException, IOException;
  }

  static Check attempt(String name, Look look) {
    try {
      return look.at();
    } catch (KernelException | IOException | RuntimeException e) {
      return new Check(name, Verdict.DEGRADED, "unknown: " + e.getMessage(), "");
    }
  }

  private static Check ok(String name, String finding) {
    return new Check(name, Verdict.OK, finding, "");
  }

  private static Check degraded(String name, String finding, String remedy) {
    return new Check(name, Verdict.DEGRADED, finding, remedy);
  }

  static Check java(Runtime.Version version) {
    String finding = version.toString();
    return version.compareToIgnoreOptional(WAKES_SURELY) < 0
        ? degraded(
            "java",
            finding + " may lose the wake-up of a virtual thread (JDK-8369227): a call may hang",
            "use JDK 25.0.3 or newer")
        : ok("java", finding);
  }

  static Check kernel(String release, List<Lack> lacks) {
    String name = "Linux " + release;
    if (lacks.isEmpty()) {
      return ok("kernel", name);
    }
    return new Check(
        "kernel",
        lacks.stream().anyMatch(Lack::isVital) ? Verdict.FAILED : Verdict.DEGRADED,
        name + " lacks " + String.join("; ", lacks.stream().map(Lack::what).toList()),
        "use a newer kernel");
  }

  static Check bwrap(List<Path> places) {
    try {
      return ok("bwrap", BackendRegistration.bwrap(places).toString());
    } catch (SandboxException e) {
      return new Check(
          "bwrap",
          Verdict.FAILED,
          "none of " + places + " can be executed; without it there are no boxes",
          String.valueOf(e.getMessage()));
    }
  }

  static Check user(Privileges privileges, boolean canClaim) {
    if (privileges.canChangeUser() && !canClaim) {
      return degraded(
          "user",
          "uid "
              + privileges.uid()
              + ": every box gets a host uid of its own, but /run cannot be written, so boxes of"
              + " another home may have the same",
          "mount a tmpfs at /run, or have one home only");
    }
    if (privileges.canChangeUser()) {
      return ok("user", "uid " + privileges.uid() + ": every box gets a host uid of its own");
    }
    return degraded(
        "user",
        "uid "
            + privileges.uid()
            + " without CAP_SETUID: all boxes run as this user, so what breaks out of one is you",
        "run ebb as root: then each box has a uid that owns nothing else");
  }

  static Check namespaces(Confinement host) {
    List<String> remedies = HostRemedies.namespaces(host);
    return remedies.isEmpty()
        ? ok("namespaces", "user namespaces allowed: " + host.userNamespaces())
        : degraded(
            "namespaces",
            "user namespaces are restricted, boxes need them",
            String.join("; ", remedies));
  }

  static Check proc(Confinement host) {
    return host.maskedProc().isEmpty()
        ? ok("proc", "nothing of /proc is masked")
        : degraded(
            "proc",
            "masked: " + String.join(", ", host.maskedProc()) + "; a box cannot have a /proc",
            HostRemedies.MASKED);
  }

  static Check cgroups(Hierarchies hierarchies) throws IOException {
    String finding = "mode " + hierarchies.mode().wireName() + ": " + hierarchies.reason();
    if (hierarchies.mode() == CgroupMode.NONE) {
      return degraded(
          "cgroups",
          finding
              + "; so limits hold by process, memory is looked at 20 times a second, but not what"
              + " processes share of it nor what lies in files (memfd, tmpfs), processor time is"
              + " not limited, and a command costs 3 PIDs",
          "run where cgroups are writable: as root on a host, or in a systemd unit with"
              + " Delegate=yes");
    }
    return hierarchies.hasKill().orElse(true)
        ? ok("cgroups", finding)
        : degraded(
            "cgroups",
            finding + "; no cgroup.kill, members are frozen and killed one by one",
            "use Linux 5.14 or newer");
  }

  private static Reading ofPids() throws KernelException {
    return new Gauges(Path.of("/"), Thresholds.DEFAULT).read().of(Resource.PIDS);
  }

  /** Counts the threads of the JVM, too. */
  static Check pids(Reading nearest) {
    String finding =
        "%d of %d processes and threads are there, by %s"
            .formatted(nearest.use(), nearest.limit(), nearest.source());
    return nearest.limit() - nearest.use() >= FEW_PIDS
        ? ok("pids", finding)
        : degraded(
            "pids",
            finding + "; a command takes 2 or 3 and what it starts",
            "raise it to " + (nearest.use() + FEW_PIDS) + " or more (docker: --pids-limit)");
  }

  static Check files(long max) {
    String finding = max + " open files";
    return max >= FEW_FILES
        ? ok("files", finding)
        : degraded(
            "files",
            finding + "; a box with a command takes some 8",
            "raise it to " + FEW_FILES + " or more (ulimit -n, docker: --ulimit nofile)");
  }

  static Check privileges(Privileges privileges) {
    return privileges.has(Privileges.CAP_SYS_RESOURCE)
        ? ok("privileges", "CAP_SYS_RESOURCE present")
        : degraded(
            "privileges",
            "no CAP_SYS_RESOURCE: hard limits cannot be raised above Ebb's own",
            "grant it, or raise the limits of the shell that starts ebb");
  }

  /** A box cannot be prevented from dumping core, nor a socket from receiving the dump. */
  static Check cores(CorePattern pattern) {
    return switch (pattern.kind()) {
      case FILE -> ok("cores", "to a file, and boxes write none");
      case PROGRAM -> ok("cores", "to a program of the host, which is not run for boxes");
      case SOCKET ->
          degraded(
              "cores",
              "core_pattern is "
                  + pattern.text()
                  + ": a command that crashes sends its memory to the host's handler behind that"
                  + " socket, and no limit of a box stops it",
              "set kernel.core_pattern to a file or to a program (|/path), or let the handler drop"
                  + " what comes from boxes");
    };
  }

  /** Checks the cgroups of an engine, if one could be opened: its own cgroup shows more. */
  private static List<Check> lively(Look cgroups) throws InterruptedException {
    try (Engine engine = Engine.openForProcess()) {
      var checks = new ArrayList<>(List.of(attempt("cgroups", cgroups)));
      checks.addAll(boxes(engine));
      return checks;
    } catch (SandboxException e) {
      return List.of(attempt("cgroups", cgroups), noBox(e));
    }
  }

  private static Look cgroups() {
    try {
      var hierarchies = Hierarchies.detect(true);
      return () -> cgroups(hierarchies);
    } catch (IOException e) {
      return () -> {
        throw e;
      };
    }
  }

  /** Makes a box with each backend, and one with any of them. */
  private static List<Check> boxes(Engine engine) throws InterruptedException {
    Check any = box(engine, BoxSpec.defaults());
    if (any.verdict() != Verdict.OK) {
      return List.of(any);
    }
    var checks = new ArrayList<Check>();
    for (SandboxBackend backend : engine.backends().all()) {
      // Some lacks of the host show only when a box is made.
      Optional<HostLack> known = backend.lack();
      Check own =
          known.isPresent() ? any : box(engine, BoxSpec.defaults().withBackend(backend.name()));
      checks.add(backend(backend.name(), backend.capabilities(), backend.lack(), own));
    }
    checks.add(any);
    return checks;
  }

  /** A backend that makes no boxes here is not a failure: another one makes them. */
  static Check backend(String name, Capabilities capabilities, Optional<HostLack> lack, Check box) {
    String can = capabilities(capabilities);
    if (lack.isPresent()) {
      String remedy = lack.get().remedy();
      return new Check(
          name,
          remedy.isEmpty() ? Verdict.OK : Verdict.DEGRADED,
          lack.get().finding() + can,
          remedy);
    }
    return box.verdict() == Verdict.OK
        ? ok(name, box.finding() + can)
        : degraded(name, "its boxes do not run: " + box.finding() + can, box.remedy());
  }

  private static String capabilities(Capabilities capabilities) {
    return "; can: "
        + capabilities.all().stream()
            .sorted()
            .map(Capability::wireName)
            .collect(Collectors.joining(", "));
  }

  /** The remedy, if known, follows the failure. */
  static Check noBox(SandboxException e) {
    List<String> lines = String.valueOf(e.getMessage()).lines().map(String::strip).toList();
    String remedy =
        lines.size() > 1
            ? String.join("; ", lines.subList(1, lines.size()))
            : "see what is degraded above, and docs/containers.md";
    return new Check("box", Verdict.FAILED, lines.getFirst(), remedy);
  }

  private static Check box(Engine engine, BoxSpec spec) throws InterruptedException {
    try {
      var run = engine.run(spec, ExecSpec.of("/bin/sh", "-c", "[ $$ -le 3 ] && id -u"));
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
      return noBox(e);
    }
  }
}
