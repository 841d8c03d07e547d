package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KeeperTest {
  private static final ProcessHandle SELF = ProcessHandle.current();
  private static final long PARENT = SELF.parent().orElseThrow().pid();

  @Test
  void whoeverIsNamedAndOurAncestorIsOurKeeper() {
    long above = SELF.parent().flatMap(ProcessHandle::parent).orElseThrow().pid();
    assertThat(Keeper.pids(above + " " + PARENT, SELF)).containsExactly((int) PARENT, (int) above);
    assertThat(Keeper.pids("" + PARENT, SELF)).containsExactly((int) PARENT);
  }

  @Test
  void aStrangerIsNotWhateverIsSaid() {
    assertThat(Keeper.pids("", SELF)).isEmpty();
    assertThat(Keeper.pids(SELF.pid() + " 0 x", SELF)).isEmpty();
    assertThat(Keeper.pids(PARENT + "0", SELF)).isEmpty();
  }
}
