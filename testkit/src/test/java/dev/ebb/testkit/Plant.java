package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.oracle.Trace;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Puts a leak on the host, and knows how to take it back. */
@FunctionalInterface
interface Plant {
  /** Takes the leak back. */
  @FunctionalInterface
  interface Weed {
    void pull() throws Exception;
  }

  Weed plant() throws Exception;

  /** The leak, and nothing else, is seen from the moment it is there until it is gone. */
  static List<Trace> assertSeen(Plant leak, String... kinds) throws Exception {
    Snapshot before = Snapshot.take();
    Weed weed = leak.plant();
    var seen = new ArrayList<Trace>();
    try {
      // Neighbours may need a second look to be recognised.
      await()
          .pollInSameThread()
          .pollDelay(Duration.ZERO)
          .untilAsserted(
              () -> {
                seen.clear();
                seen.addAll(before.leaksSince());
                assertThat(seen)
                    .extracting(Trace::kind)
                    .as(seen::toString)
                    .containsExactlyInAnyOrder(kinds);
              });
    } finally {
      weed.pull();
    }
    before.assertNoLeaks();
    return seen;
  }
}
