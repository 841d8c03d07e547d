package dev.ebb.chaos;

import java.time.Duration;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/** Random moments from a printed seed, which {@code -Debb.seed} repeats as far as timing allows. */
final class Chance {
  private final Random random;

  Chance(long seed) {
    random = new Random(seed);
  }

  static Chance of(String test) {
    long seed = Long.getLong("ebb.seed", ThreadLocalRandom.current().nextLong());
    System.out.println(test + ": seed " + seed);
    return new Chance(seed);
  }

  int below(int bound) {
    return random.nextInt(bound);
  }

  long nextLong() {
    return random.nextLong();
  }

  /** Lets a random time pass: this waits for nothing, it chooses the moment of a kill. */
  void pause(Duration longest) {
    long until = System.nanoTime() + random.nextLong(longest.toNanos());
    for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
