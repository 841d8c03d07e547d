package dev.ebb.backend.bubblewrap;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.process.Confinement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages of bwrap as they were seen, and the explanations that Ebb reports for them. */
class RefusalTest {
  private static final String NO_NAMESPACE =
      "bwrap: No permissions to create new namespace, likely because the kernel does not allow"
          + " non-privileged user namespaces.";

  private static final String SWITCHED_OFF = "sysctl user.max_user_namespaces=10000";
  private static final String ROOT_ONLY = "sysctl kernel.unprivileged_userns_clone=1";
  private static final String SECCOMP = "security-opt seccomp=dist/container/seccomp.json";
  private static final String APP_ARMOR = "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  private static final String MASKED = "security-opt systempaths=unconfined";
  private static final String DENIED = "docker and compose: security-opt apparmor=unconfined";
  private static final String UID_MAP = "docker: --user 1000; compose: user: \"1000\"";

  private static final Confinement FREE = host("");

  /** Returns a host with restrictions, one letter for each. */
  private static Confinement host(String what) {
    return new Confinement(
        what.contains("o") ? 0 : 63304,
        !what.contains("r"),
        what.contains("a"),
        what.contains("s") || what.contains("n"),
        what.contains("n"),
        what.contains("m") ? List.of("/proc/kcore") : List.of());
  }

  private static void assertHelp(String said, Confinement host, String... remedies) {
    List<String> told = Refusal.remedies("ebb-init: " + said, host);
    assertThat(told).as(said).hasSize(remedies.length);
    for (int i = 0; i < remedies.length; i++) {
      assertThat(told.get(i)).contains(remedies[i]);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "o, " + SWITCHED_OFF,
    "r, " + ROOT_ONLY,
    "n, " + SECCOMP,
    "a, " + APP_ARMOR,
    "on, " + SWITCHED_OFF,
    "orn, " + SWITCHED_OFF,
    "rn, " + ROOT_ONLY,
    "m, " + MASKED
  })
  void withoutANamespaceTheReasonIsReported(String host, String remedy) {
    assertHelp(NO_NAMESPACE, host(host), remedy);
    assertHelp("bwrap: Creating new namespace failed: No space left", host(host), remedy);
  }

  /** The restriction may exist for other reasons. */
  @Test
  void aFilterThatForbidsNoNamespaceIsNotBlamedForIt() {
    assertHelp(NO_NAMESPACE, host("s"));
    assertHelp(NO_NAMESPACE, host("sa"), APP_ARMOR);
  }

  @Test
  void everythingMissingIsReportedAtOnce() {
    assertHelp(NO_NAMESPACE, host("nm"), SECCOMP, MASKED);
    assertHelp(NO_NAMESPACE, host("na"), SECCOMP, APP_ARMOR);
    assertHelp(NO_NAMESPACE, host("nam"), SECCOMP, APP_ARMOR, MASKED);
    assertHelp(NO_NAMESPACE, host("om"), SWITCHED_OFF, MASKED);
  }

  @Test
  void aMaskedProcIsRecognizedByItsErrno() {
    String said = "bwrap: Can't mount proc on /newroot/proc: ";
    assertHelp(said + "Operation not permitted", host("m"), MASKED);
    assertHelp(said + "Permission denied", host("m"), DENIED);
  }

  /** Each call of a box, taken out of the profile: ProfileTest of the container bed. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Failed to make / slave",
        "pivot_root",
        "Can't set hostname to box",
        "unmount old root",
        "unshare user ns"
      })
  void aForbiddenCallIsRecognizedByItsErrno(String call) {
    assertHelp("bwrap: " + call + ": Operation not permitted", host("s"), SECCOMP);
    assertHelp("bwrap: " + call + ": Operation not permitted", FREE);
    assertHelp("bwrap: " + call + ": Permission denied", host("s"), DENIED);
  }

  @Test
  void aUidThatCannotBeMappedIsRootsOrAppArmors() {
    assertHelp("bwrap: setting up uid map: Operation not permitted", FREE, UID_MAP);
    assertHelp("bwrap: setting up uid map: Permission denied", host("a"), APP_ARMOR);
  }

  @Test
  void aSecurityModuleSaysPermissionDenied() {
    assertHelp("bwrap: Can't mount tmpfs on /newroot/tmp: Permission denied", FREE, DENIED);
    assertHelp("bwrap: Can't bind mount /oldroot/usr: Permission denied", host("s"), DENIED);
  }

  @Test
  void anUnknownRefusalIsNotGuessed() {
    assertHelp("", host("orasm"));
    assertHelp("bwrap: Can't find source path /nowhere: No such file or directory", host("sm"));
    assertHelp("bwrap: execvp ebb-init: Permission denied", host("sm"));
  }

  @Test
  void kubernetesIsRecognizedToo() {
    assertHelp(NO_NAMESPACE, host("nm"), "seccompProfile {type: Localhost,", "procMount: Unmasked");
    assertHelp("bwrap: setting up uid map: Operation not permitted", FREE, "runAsUser: 1000");
    assertHelp("bwrap: pivot_root: Permission denied", FREE, "appArmorProfile {type: Unconfined}");
  }
}
