package dev.ebb.chaos;

import org.junit.jupiter.api.Tag;

/** Repeats the test often enough to meet rare cases. */
@Tag("long")
class EngineKillManyTimesChaosTest extends EngineKillChaosTest {
  @Override
  int rounds() {
    return 300;
  }
}
