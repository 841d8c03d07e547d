package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A flood of refusals in the log. */
final class RefusalLogTest {
  private final List<String> lines = new ArrayList<>();
  private final RefusalLog log = new RefusalLog("others", lines::add);

  private static long at(int seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }

  @Test
  void repeatedRefusalsAreCountedOnTheNextLine() {
    for (int i = 0; i < 1000; i++) {
      log.add("a", at(1));
    }
    assertThat(lines).containsExactly("a");
    log.add("a", at(12));
    assertThat(lines).containsExactly("a", "a repeated=999");
    log.add("a", at(30));
    assertThat(lines).endsWith("a");
  }

  @Test
  void anotherRefusalBringsTheCount() {
    log.add("a", at(1));
    log.add("a", at(2));
    log.add("b", at(20));
    assertThat(lines).containsExactly("a", "b", "a repeated=1");
  }

  @Test
  void theEndBringsAllCounts() {
    log.add("a", at(1));
    log.add("a", at(2));
    log.add("b", at(2));
    log.close();
    assertThat(lines).containsExactly("a", "b", "a repeated=1");
  }

  @Test
  void refusalsThatAreAllDifferentAreBoundedToo() {
    for (int i = 0; i < 10_000; i++) {
      log.add("kind " + i, at(1));
    }
    assertThat(lines).hasSize(201).endsWith("others");
    log.close();
    assertThat(lines).hasSize(202).endsWith("others repeated=9799");
    log.add("kind 1", at(1));
    assertThat(lines).endsWith("kind 1");
  }
}
