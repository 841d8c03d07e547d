package dev.ebb.chaos;

import org.junit.jupiter.api.Tag;

/** Repeats the test often enough to meet rare cases. */
@Tag("long")
class SetupKillManyTimesChaosTest extends SetupKillChaosTest {
  @Override
  int rounds() {
    return 300;
  }
}
