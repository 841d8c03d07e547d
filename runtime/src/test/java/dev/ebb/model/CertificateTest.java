package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CertificateTest {
  private static final Duration TOOK = Duration.ofMillis(12);

  private static Certificate certificate(
      Map<Kind, Integer> held, Map<Kind, Integer> released, Certificate.Stuck... stuck) {
    return new Certificate("b1", held, released, List.of(stuck), TOOK);
  }

  @Test
  void aCertificateIsCleanWhenEverythingHeldIsGone() {
    var counts = Map.of(Kind.CGROUP, 5, Kind.PROCESS, 2, Kind.USER, 1);
    var clean = certificate(counts, counts);
    assertThat(clean.isClean()).isTrue();
    assertThat(clean)
        .hasToString("b1: released process 2, cgroup 5, user 1 in 12 ms; nothing left");
  }

  @Test
  void oneLessReleasedThanHeldIsNotClean() {
    assertThat(certificate(Map.of(Kind.PROCESS, 2), Map.of(Kind.PROCESS, 1)).isClean()).isFalse();
    assertThat(certificate(Map.of(Kind.PROCESS, 2), Map.of()).isClean()).isFalse();
    assertThat(certificate(Map.of(Kind.PROCESS, 2), Map.of(Kind.CGROUP, 2)).isClean()).isFalse();
  }

  @Test
  void aStuckResourceIsNamedWithItsReason() {
    var stuck =
        certificate(
            Map.of(Kind.PROCESS, 1),
            Map.of(Kind.PROCESS, 1),
            new Certificate.Stuck(Kind.PROCESS, "17", "outlived SIGKILL"));
    assertThat(stuck.isClean()).isFalse();
    assertThat(stuck.toString()).contains("STUCK").contains("17").contains("outlived SIGKILL");
  }

  @Test
  void aCertificateDoesNotChangeAfterItWasHandedOut() {
    var held = new HashMap<>(Map.of(Kind.USER, 1));
    var stuck = new ArrayList<Certificate.Stuck>();
    var certificate = new Certificate("b1", held, held, stuck, TOOK);
    held.clear();
    stuck.add(new Certificate.Stuck(Kind.USER, "1", "late"));
    assertThat(certificate.held()).isEqualTo(Map.of(Kind.USER, 1));
    assertThat(certificate.stuck()).isEmpty();
  }
}
