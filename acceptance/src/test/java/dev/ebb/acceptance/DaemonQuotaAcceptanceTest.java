package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Quota;
import dev.ebb.testkit.LeakChecked;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The quotas of a tenant. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonQuotaAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess("--quotas-boxes=3");

  private static EbbException assertBeyond(String quota, ThrowingCallable call) {
    EbbException refusal = catchThrowableOfType(EbbException.class, call);
    assertThat(refusal).as(quota).isNotNull();
    assertThat(refusal.status()).isEqualTo(429);
    assertThat(refusal.code()).isEqualTo("quota");
    assertThat(refusal.detail()).contains("the quota of " + quota + " is");
    assertThat(refusal.retryAfter()).isPositive();
    return refusal;
  }

  private static BoxRequest box(long mebibytes, int pids) {
    return BoxRequest.defaults().withLimits(new Limits(mebibytes << 20, pids, 1.0, null));
  }

  @Test
  void aTenantHasWhatItsQuotaAllowsAndNoMore() throws Exception {
    EbbClient admin = daemon.client();
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    EbbClient b = daemon.client(daemon.key("--tenant", "b"));
    var boxes = new ArrayList<Box>();
    for (int i = 0; i < 3; i++) {
      boxes.add(a.boxes().create(box(64, 10)));
    }
    assertBeyond("boxes", () -> a.boxes().create(box(64, 10)));
    // Boxes of another tenant do not count, and a refused request leaves nothing.
    b.boxes().remove(b.boxes().create(box(64, 10)).id(), true);
    assertThat(a.boxes().list(BoxQuery.all())).hasSize(3);

    // Set by the command line, and it holds at once.
    var set = daemon.ebb().call("quota", "set", "--boxes", "9", "--memory", "256m", "a");
    assertThat(set.text()).isEqualTo("a boxes=9 memory=268435456\n");
    assertBeyond("memory", () -> a.boxes().create(box(65, 10)));
    boxes.add(a.boxes().create(box(64, 10)));

    admin.setQuota("a", new Quota(9L, 1L, null, null, 50L, null));
    assertThat(a.quota("a")).isEqualTo(new Quota(9L, 1L, null, null, 50L, null));
    assertBeyond("pids", () -> a.boxes().create(box(8, 11)));
    var sleep = ExecRequest.of("sleep", "1000");
    var running = a.execs(boxes.getFirst().id()).start(sleep);
    assertBeyond("execs", () -> a.execs(boxes.get(1).id()).start(sleep));
    assertBeyond("execs", () -> a.run(box(8, 10), ExecRequest.of("true")));
    assertThat(a.boxes().list(BoxQuery.all())).hasSize(4);
    a.execs(boxes.getFirst().id()).kill(running.number(), Duration.ZERO);
    assertThat(a.run(box(8, 10), ExecRequest.of("echo", "1")).stdout().text()).isEqualTo("1\n");

    EbbException forbidden =
        catchThrowableOfType(EbbException.class, () -> a.setQuota("a", admin.quota("b")));
    assertThat(forbidden.status()).isEqualTo(403);
    admin.removeQuota("a");
    assertBeyond("boxes", () -> a.boxes().create(box(8, 10)));
    for (Box each : boxes) {
      assertThat(a.boxes().remove(each.id(), true).clean()).isTrue();
    }
  }

  @Test
  void manyAtOnceGetNoMoreThanTheQuota() throws Exception {
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    var made = new ArrayList<Box>();
    int refused = 0;
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var all = new ArrayList<Future<Box>>();
      for (int i = 0; i < 12; i++) {
        all.add(threads.submit(() -> a.boxes().create(box(64, 10))));
      }
      for (Future<Box> each : all) {
        try {
          made.add(each.get());
        } catch (ExecutionException e) {
          assertThat(e.getCause()).isInstanceOf(EbbException.class);
          assertThat(((EbbException) e.getCause()).code()).isEqualTo("quota");
          refused++;
        }
      }
    }
    assertThat(made).hasSize(3);
    assertThat(refused).isEqualTo(9);
    for (Box each : made) {
      a.boxes().remove(each.id(), true);
    }
  }

  @Test
  void aTenantOverItsRateMustWaitButMayAlwaysEndBoxes() throws Exception {
    EbbClient admin = daemon.client();
    EbbClient a = daemon.client(daemon.key("--tenant", "a"));
    Box box = a.boxes().create(box(64, 10));
    admin.setQuota("a", new Quota(null, null, null, null, null, 0.01));
    a.boxes().inspect(box.id());
    assertBeyond("rate", () -> a.boxes().inspect(box.id()));
    for (int i = 0; i < 5; i++) {
      assertThat(a.boxes().killAll(box.id(), Duration.ZERO)).isEmpty();
    }
    assertThat(a.boxes().remove(box.id(), true).clean()).isTrue();
  }
}
