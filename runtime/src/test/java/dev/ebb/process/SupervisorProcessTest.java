package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SupervisorProcessTest {
  private static final ProcessHandle SELF = ProcessHandle.current();
  private static final long PARENT = SELF.parent().orElseThrow().pid();

  @Test
  void aNamedProcessThatIsOurAncestorIsOurSupervisor() {
    long above = SELF.parent().flatMap(ProcessHandle::parent).orElseThrow().pid();
    assertThat(SupervisorProcess.pids(above + " " + PARENT, SELF))
        .containsExactly((int) PARENT, (int) above);
    assertThat(SupervisorProcess.pids("" + PARENT, SELF)).containsExactly((int) PARENT);
  }

  @Test
  void aStrangerIsNotWhateverIsSaid() {
    assertThat(SupervisorProcess.pids("", SELF)).isEmpty();
    assertThat(SupervisorProcess.pids(SELF.pid() + " 0 x", SELF)).isEmpty();
    assertThat(SupervisorProcess.pids(PARENT + "0", SELF)).isEmpty();
  }
}
