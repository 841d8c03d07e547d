package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.Cost;
import dev.ebb.admission.Permit;
import dev.ebb.box.HostUids;
import dev.ebb.kernel.Deadline;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Few boxes wait for their release, and no tenant takes the places of all others. */
@Timeout(60)
final class ReleaseBacklogTest {
  private static final HostUids MANY = HostUids.of(1 << 30);

  /** Admits everything, on a host where so many boxes fit into a part. */
  private record Host(int boxes) implements AdmissionControl {
    @Override
    public Permit admit(String tenant, Cost cost, BooleanSupplier hasLeft) {
      return () -> {};
    }

    @Override
    public int fitting(Cost each, int part) {
      return boxes;
    }

    @Override
    public SandboxException explain(SandboxException failure, Instant begun) {
      return failure;
    }
  }

  private static ReleaseBacklog on(int boxes) {
    return new ReleaseBacklog(new Host(boxes), MANY);
  }

  private static int fill(ReleaseBacklog backlog, String tenant) {
    int entered = 0;
    while (backlog.enter(tenant)) {
      entered++;
    }
    return entered;
  }

  @Test
  void oneTenantLeavesRoomForTheNext() {
    var backlog = on(Integer.MAX_VALUE);
    assertThat(fill(backlog, "a")).isEqualTo(ReleaseBacklog.MOST / 2);
    assertThat(fill(backlog, "b")).isEqualTo(ReleaseBacklog.MOST / 3);
    assertThat(fill(backlog, "c")).isPositive();
    assertThat(backlog.count()).isLessThanOrEqualTo(ReleaseBacklog.MOST);
  }

  @Test
  void allTenantsTogetherStayBelowTheBound() {
    var backlog = on(Integer.MAX_VALUE);
    for (int i = 0; i < 100; i++) {
      fill(backlog, "t" + i);
    }
    assertThat(backlog.count()).isEqualTo(ReleaseBacklog.MOST);
  }

  @Test
  void whatWasReleasedMakesRoom() {
    var backlog = on(1);
    assertThat(backlog.enter("a")).isTrue();
    assertThat(backlog.enter("a")).isFalse();
    assertThat(backlog.enter("b")).isFalse();
    backlog.leave("a");
    assertThat(backlog.enter("b")).isTrue();
  }

  @Test
  void aSmallHostHasASmallBacklogAndOneUnderPressureHasNone() {
    assertThat(fill(on(4), "a")).isEqualTo(2);
    assertThat(fill(on(0), "a")).isZero();
  }

  @Test
  void anOrderWaitsForAReleaseOnlyIfOneIsToCome() throws Exception {
    var backlog = on(8);
    var soon = Deadline.in(Duration.ofMillis(20));
    assertThat(backlog.awaitRelease(backlog.look("a"), Deadline.never())).isFalse();
    assertThat(backlog.enter("a")).isTrue();
    var look = backlog.look("a");
    assertThat(backlog.awaitRelease(look, soon)).isFalse();
    assertThat(backlog.awaitRelease(backlog.look("b"), Deadline.never())).isFalse();
    backlog.leave("a");
    assertThat(backlog.awaitRelease(look, Deadline.never())).isTrue();
  }
}
