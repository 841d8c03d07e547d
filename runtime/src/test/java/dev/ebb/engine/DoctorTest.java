package dev.ebb.engine;

import static dev.ebb.engine.Doctor.Verdict.DEGRADED;
import static dev.ebb.engine.Doctor.Verdict.FAILED;
import static dev.ebb.engine.Doctor.Verdict.OK;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.admission.PressureLevel;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Resource;
import dev.ebb.backend.Capabilities;
import dev.ebb.backend.Capability;
import dev.ebb.backend.HostLack;
import dev.ebb.cgroup.CgroupMode;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.KernelFeatures.Lack;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.process.Confinement;
import dev.ebb.process.CorePattern;
import dev.ebb.process.Privileges;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Hosts that lack something: doctor reports each with its consequence and its remedy. */
class DoctorTest {
  private static final String NEW = "6.18.0";
  private static final long DOCKERS_CAPABILITIES = 0xa80425fbL;

  private static Confinement host(
      long namespaces, boolean clone, boolean appArmor, boolean filtered) {
    return new Confinement(namespaces, clone, appArmor, true, filtered, List.of());
  }

  private static Hierarchies cgroups(CgroupMode mode, String reason) {
    return new Hierarchies(mode, Optional.empty(), "", Map.of(), Map.of(), false, reason);
  }

  private static Privileges capabilities(long effective) {
    return new Privileges(1000, effective, List.of());
  }

  private static void assertFine(Doctor.Check check, String finding) {
    assertThat(check.verdict()).as(check.toString()).isEqualTo(OK);
    assertThat(check.finding()).contains(finding);
    assertThat(check.remedy()).isEmpty();
  }

  private static void assertDegraded(Doctor.Check check, String finding, String remedy) {
    assertThat(check.verdict()).as(check.toString()).isEqualTo(DEGRADED);
    assertThat(check.finding()).contains(finding);
    assertThat(check.remedy()).contains(remedy);
  }

  private static Doctor.Check backend(Optional<HostLack> lack, Doctor.Verdict box) {
    return Doctor.backend(
        "one",
        Capabilities.of(Capability.FREEZE, Capability.DETACH),
        lack,
        new Doctor.Check("box", box, "a box ran", box == OK ? "" : "report this"));
  }

  @Test
  void aJavaThatLosesWakeUpsIsDegraded() {
    for (String old : List.of("25", "25.0.1+8", "25.0.2+10-LTS")) {
      assertDegraded(
          Doctor.java(Runtime.Version.parse(old)), "may lose the wake-up", "JDK 25.0.3 or newer");
    }
    for (String fine : List.of("25.0.3+9-LTS", "25.0.4+7", "26.0.1")) {
      assertFine(Doctor.java(Runtime.Version.parse(fine)), fine);
    }
  }

  @Test
  void aBackendIsShownWithItsCapabilitiesAndWhetherItsBoxesRun() {
    assertFine(backend(Optional.empty(), OK), "a box ran; can: freeze, detach");
    assertDegraded(backend(Optional.empty(), FAILED), "its boxes do not run", "report this");
    var refused = new HostLack("EPERM", "allow it");
    assertDegraded(backend(Optional.of(refused), OK), "EPERM; can: freeze, detach", "allow it");
    assertFine(backend(Optional.of(new HostLack("not in use", "")), OK), "not in use; can");
  }

  @Test
  void aHostWithAHandlerOfCoresBehindASocket() {
    for (String socket : List.of("@/run/coredump.sock", "@@/run/coredump.sock")) {
      assertDegraded(
          Doctor.cores(new CorePattern(socket)), socket + ": a command", "kernel.core_pattern");
    }
    assertFine(Doctor.cores(new CorePattern("|/usr/lib/systemd/systemd-coredump %P")), "program");
    assertFine(Doctor.cores(new CorePattern("core.%p@%h")), "file");
    assertFine(Doctor.cores(new CorePattern("")), "file");
  }

  @Test
  void anOldKernel() {
    assertFine(Doctor.kernel(NEW, List.of()), "Linux 6.18.0");
    var openat2 = new Lack("openat2 (5.6), so nothing can be shown", false);
    assertDegraded(
        Doctor.kernel("5.5.0", List.of(openat2)),
        "Linux 5.5.0 lacks openat2 (5.6), so nothing can be shown",
        "use a newer kernel");
    var tooOld = Doctor.kernel("5.3.0-1", List.of(new Lack("pidfds", true), openat2));
    assertThat(tooOld.verdict()).isEqualTo(FAILED);
    assertThat(tooOld.finding()).startsWith("Linux 5.3.0-1 lacks pidfds; openat2");
  }

  @Test
  void bubblewrapIsMissing(@TempDir Path directory) throws IOException {
    Path plain = Files.createFile(directory.resolve("plain"));
    Path program = Files.createFile(directory.resolve("bwrap"));
    assertThat(program.toFile().setExecutable(true)).isTrue();

    var missing = Doctor.bwrap(List.of(directory.resolve("nowhere"), plain));

    assertThat(missing.verdict()).isEqualTo(FAILED);
    assertThat(missing.finding()).contains("nowhere, " + plain).contains("there are no boxes");
    assertThat(missing.remedy()).contains("apt-get install bubblewrap");
    assertFine(Doctor.bwrap(List.of(plain, program)), program.toString());
  }

  @Test
  void aUserThatCannotBecomeAnother() {
    assertFine(Doctor.user(capabilities(DOCKERS_CAPABILITIES), true), "a host uid of its own");
    assertDegraded(
        Doctor.user(capabilities(0), false),
        "uid 1000 without CAP_SETUID: all boxes run as this user, so what breaks out of one is you",
        "run ebb as root");
  }

  @Test
  void aHostWhereNoUidCanBeClaimed() {
    assertDegraded(
        Doctor.user(capabilities(DOCKERS_CAPABILITIES), false),
        "boxes of another home may have the same",
        "mount a tmpfs at /run");
  }

  @ParameterizedTest
  @CsvSource({
    "0, true, false, false, user namespaces are switched off: sysctl user.max_user_namespaces",
    "9, false, false, false, sysctl kernel.unprivileged_userns_clone=1",
    "9, true, true, false, sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    "9, true, true, true, sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    "9, true, false, true, security-opt seccomp=dist/container/seccomp.json"
  })
  void userNamespacesAreRestricted(
      long namespaces, boolean clone, boolean appArmor, boolean filtered, String remedy) {
    assertDegraded(
        Doctor.namespaces(host(namespaces, clone, appArmor, filtered)), "boxes need them", remedy);
  }

  @Test
  void aFilterThatForbidsNoneIsNotWorthAWord() {
    assertFine(Doctor.namespaces(host(9, true, false, false)), "user namespaces allowed: 9");
  }

  @Test
  void partsOfProcAreMasked() {
    var masked = new Confinement(9, true, false, false, false, List.of("/proc/kcore", "/proc/sys"));
    assertDegraded(
        Doctor.proc(masked),
        "masked: /proc/kcore, /proc/sys; a box cannot have a /proc",
        "systempaths=unconfined");
    assertFine(Doctor.proc(host(9, true, false, false)), "nothing of /proc is masked");
  }

  @Test
  void noCgroupsAreDelegated() throws IOException {
    var none = Doctor.cgroups(cgroups(CgroupMode.NONE, "/sys/fs/cgroup is not writable"));
    assertDegraded(none, "mode none: /sys/fs/cgroup is not writable", "Delegate=yes");
    assertThat(none.finding())
        .contains("20 times a second", "memfd, tmpfs", "time is not limited", "3 PIDs");
    assertFine(Doctor.cgroups(cgroups(CgroupMode.V2, "of ours")), "mode v2: of ours");
  }

  @Test
  void aKernelWithAndWithoutCgroupKill(@TempDir Path root) throws IOException {
    var hybrid =
        new Hierarchies(
            CgroupMode.HYBRID, Optional.of(root), "", Map.of(), Map.of(), false, "both");
    Path ours = Files.createDirectory(root.resolve("ebb-1"));
    Files.createFile(ours.resolve("cgroup.type"));
    assertDegraded(
        Doctor.cgroups(hybrid), "mode hybrid: both; no cgroup.kill", "use Linux 5.14 or newer");
    Files.createFile(ours.resolve("cgroup.kill"));
    assertFine(Doctor.cgroups(hybrid), "mode hybrid: both");
  }

  /** Existing processes count, and the JVM's own threads are among them. */
  @Test
  void tooFewProcessesForBoxes() {
    assertDegraded(
        Doctor.pids(ofPids(26, 100)),
        "26 of 100 processes and threads are there, by /sys/fs/cgroup/pids.max; a command takes",
        "raise it to 101 or more (docker: --pids-limit)");
    assertDegraded(Doctor.pids(ofPids(290, 300)), "290 of 300", "raise it to 365 or more");
    assertFine(Doctor.pids(ofPids(25, 100)), "25 of 100 processes and threads are there");
  }

  private static Reading ofPids(long use, long limit) {
    return new Reading(Resource.PIDS, use, limit, "/sys/fs/cgroup/pids.max", 0, PressureLevel.OK);
  }

  @Test
  void whatABoxNeedsIsSaidApartFromWhatItLacked() {
    var check = Doctor.noBox(new SandboxException(ErrorCode.HOST_UNFIT, "no box\n  one\n  two"));
    assertThat(check).isEqualTo(new Doctor.Check("box", FAILED, "no box", "one; two"));
    var unknown = Doctor.noBox(new SandboxException(ErrorCode.HOST_UNFIT, "no box"));
    assertThat(unknown.remedy()).contains("docs/containers.md");
  }

  @Test
  void tooFewOpenFiles() {
    assertDegraded(Doctor.files(255), "255 open files; a box with a command", "ulimit -n");
    assertFine(Doctor.files(256), "256 open files");
  }

  @Test
  void hardLimitsThatCannotBeRaised() {
    assertDegraded(
        Doctor.privileges(capabilities(DOCKERS_CAPABILITIES)), "no CAP_SYS_RESOURCE", "grant it");
    assertFine(Doctor.privileges(capabilities(-1)), "CAP_SYS_RESOURCE present");
  }

  @Test
  void anUnreadableValueIsReportedAndTheRestIsChecked() {
    assertDegraded(
        Doctor.attempt(
            "pids",
            () -> {
              throw new KernelException("read pids.max", Errno.EACCES);
            }),
        "unknown: cannot read pids.max: EACCES",
        "");
  }
}
