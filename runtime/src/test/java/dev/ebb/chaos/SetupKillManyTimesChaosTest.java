package dev.ebb.chaos;

import org.junit.jupiter.api.Tag;

/** The same, often enough to meet what is rare. */
@Tag("long")
class SetupKillManyTimesChaosTest extends SetupKillChaosTest {
  @Override
  int rounds() {
    return 300;
  }
}
