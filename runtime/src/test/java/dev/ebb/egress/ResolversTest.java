package dev.ebb.egress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ResolversTest {
  private final Resolvers resolvers = new Resolvers(2);
  private final List<String> done = new CopyOnWriteArrayList<>();

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void namesOfOneBoxDelayNoOtherBox() {
    var stuck = new CountDownLatch(1);
    var last = new CountDownLatch(5);
    for (int i = 0; i < 5; i++) {
      String word = "a" + i;
      resolvers.execute(
          "a",
          () -> {
            await(stuck);
            done.add(word);
            last.countDown();
          });
    }
    var found = new CountDownLatch(1);
    resolvers.execute(
        "b",
        () -> {
          done.add("b");
          found.countDown();
        });
    await(found);
    assertThat(done).containsExactly("b");
    stuck.countDown();
    await(last);
    assertThat(done).containsExactly("b", "a0", "a1", "a2", "a3", "a4");
  }

  @Test
  void aCancelledLookUpDoesNotBlockItsOwner() {
    var stuck = new CountDownLatch(1);
    resolvers.execute("a", () -> await(stuck));
    resolvers.execute("a", () -> done.add("called off"));
    resolvers.rest();
    var found = new CountDownLatch(1);
    resolvers.execute("a", found::countDown);
    await(found);
    stuck.countDown();
    assertThat(done).isEmpty();
  }
}
