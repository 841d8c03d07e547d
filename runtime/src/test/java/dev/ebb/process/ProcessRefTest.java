package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@LeakChecked
class ProcessRefTest {
  private final Children children = new Children();

  @AfterEach
  void close() throws KernelException {
    children.close();
  }

  @Test
  void aReferenceIsParsedAsItWasPrinted() {
    var ref = new ProcessRef(17, 4_294_967_296L);
    assertThat(ref).hasToString("17@4294967296");
    assertThat(ProcessRef.parse(ref.toString())).isEqualTo(ref);
    assertThat(ProcessRef.self().pid()).isEqualTo((int) ProcessHandle.current().pid());
  }

  @Test
  void aZombieExistsButIsNotAlive() throws Exception {
    int pid = children.sleeper();
    ProcessRef ref = ProcessRef.of(pid).orElseThrow();
    assertThat(ref.exists()).isTrue();
    assertThat(ref.isAlive()).isTrue();
    children.kill(pid);
    assertThat(ref.exists()).isTrue();
    assertThat(ref.isAlive()).isFalse();
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(ref.exists()).isFalse();
    assertThat(ProcessRef.of(pid)).isEmpty();
  }

  @Test
  void aReusedPidWithAnotherStartTimeIsAnotherProcess() throws Exception {
    int pid = children.sleeper();
    ProcessRef ref = ProcessRef.of(pid).orElseThrow();
    var before = new ProcessRef(pid, ref.startTime() - 1);
    assertThat(before.exists()).isFalse();
    assertThat(before.isAlive()).isFalse();
    assertThat(before.signal(Signal.KILL)).isFalse();
    assertThat(ref.isAlive()).isTrue();
  }

  @Test
  void theVeryProcessIsSignalled() throws Exception {
    int pid = children.sleeper();
    ProcessRef ref = ProcessRef.of(pid).orElseThrow();
    assertThat(ref.signal(Signal.TERM)).isTrue();
    assertThat(children.awaitSignal(pid)).isEqualTo(15);
    assertThat(ref.signal(Signal.TERM)).isFalse();
  }
}
