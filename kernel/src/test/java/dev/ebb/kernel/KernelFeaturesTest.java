package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Kernels that lack something, as they answer. */
class KernelFeaturesTest {
  /** Refuses the arguments of every call it has. */
  private static KernelFeatures.Kernel without(Set<SystemCall> absent) {
    return (call, _) -> -(absent.contains(call) ? Errno.ENOSYS : Errno.EINVAL).number();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          PIDFD_OPEN    | true  | pidfds (5.4), so boxes cannot be made
          OPENAT2       | false | openat2 (5.6), so nothing can be shown
          CLOSE_RANGE   | false | close_range (5.9), so descriptors are closed one by one
          MOUNT_SETATTR | false | mount_setattr (5.12), so --mount and --packages are refused to root
          """)
  void aMissingFeatureIsReportedWithItsEffect(SystemCall absent, boolean isVital, String text) {
    assertThat(KernelFeatures.missing(without(EnumSet.of(absent))))
        .containsExactly(new KernelFeatures.Lack(text, isVital));
  }

  @Test
  void anOldOneLacksAllOfThem() {
    assertThat(KernelFeatures.missing(without(EnumSet.allOf(SystemCall.class)))).hasSize(4);
  }

  @Test
  void whateverElseItAnswersItHasTheCall() {
    for (Errno errno : EnumSet.complementOf(EnumSet.of(Errno.ENOSYS))) {
      assertThat(KernelFeatures.missing((_, _) -> -errno.number())).as(errno.name()).isEmpty();
    }
    assertThat(KernelFeatures.missing((_, _) -> 0)).isEmpty();
  }

  @Test
  void aFilterOfNamespacesIsDetectedByAnyErrorItReturns() {
    assertThat(KernelFeatures.areNamespacesForbidden(without(Set.of()))).isFalse();
    for (Errno errno : EnumSet.complementOf(EnumSet.of(Errno.EINVAL))) {
      assertThat(KernelFeatures.areNamespacesForbidden((_, _) -> -errno.number()))
          .as(errno.name())
          .isTrue();
    }
  }

  @Test
  void theKernelItselfAnswersAsThisSays() throws IOException {
    assumeTrue(
        Files.readString(Path.of("/proc/self/status")).contains("Seccomp:\t0"),
        "host lacks freedom of filters");
    assertThat(KernelFeatures.areNamespacesForbidden()).isFalse();
  }
}
