package dev.ebb.testkit.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Readiness;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("kernel")
@LeakChecked
class PidfdKernelTest {
  private final Scope scope = new Scope();

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  private Pidfd sleeper() throws KernelException {
    Fd nothing = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ_WRITE);
    return Spawn.spawn(
        scope, Path.of("/bin/sleep"), List.of("sleep", "1000"), List.of(nothing, nothing, nothing));
  }

  @Test
  void aLivingChildIsNotReaped() throws Exception {
    Pidfd child = sleeper();
    assertThat(child.reap()).isEmpty();
    child.signal(Signal.KILL);
    assertThat(Children.awaitExit(child))
        .isEqualTo(new Pidfd.WaitStatus(child.pid(), 2, Signal.KILL.number()));
  }

  @Test
  void itIsReadableAsSoonAsTheProcessIsDead() throws Exception {
    Poller poller = Poller.start(scope, "pidfd-poller");
    Pidfd child = sleeper();
    var dead = new Readiness(scope, poller, child.fd(), Poller.Interest.READ);
    assertThat(dead.await(Deadline.in(Duration.ZERO))).isFalse();
    child.signal(Signal.TERM);
    assertThat(dead.await(Deadline.in(Duration.ofSeconds(10)))).isTrue();
    assertThat(child.reap()).isPresent();
  }

  @Test
  void signallingADeadProcessIsNoErrorReapedOrNot() throws Exception {
    Pidfd child = sleeper();
    child.signal(Signal.KILL);
    Awaitility.await().until(() -> Children.isZombie(child.pid()));
    child.signal(Signal.TERM);
    assertThat(child.reap()).isPresent();
    child.signal(Signal.TERM);
  }

  @Test
  void aSecondReapSaysThatThereIsNoSuchChild() throws Exception {
    Pidfd child = sleeper();
    child.signal(Signal.KILL);
    Children.awaitExit(child);
    assertThatThrownBy(child::reap)
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ECHILD));
  }

  @Test
  void aZombieIsReapedByItsNumber() throws Exception {
    Pidfd child = sleeper();
    assertThat(Pidfd.reapZombie(child.pid())).isEmpty();
    child.signal(Signal.KILL);
    Awaitility.await().until(() -> Children.isZombie(child.pid()));
    assertThat(Pidfd.reapZombie(child.pid()).orElseThrow().pid()).isEqualTo(child.pid());
    assertThatThrownBy(() -> Pidfd.reapZombie(child.pid())).hasMessageEndingWith("ECHILD");
  }

  @Test
  void aStrangerIsNotReaped() throws Exception {
    Pidfd init = Pidfd.open(scope, 1);
    assertThatThrownBy(init::reap).hasMessage("cannot wait for pid 1: ECHILD");
  }

  @Test
  void noProcessHasThePidOfAReapedProcess() throws Exception {
    Pidfd child = sleeper();
    child.signal(Signal.KILL);
    Children.awaitExit(child);
    assertThatThrownBy(() -> Pidfd.open(scope, child.pid()))
        .hasMessage("cannot open pidfd of " + child.pid() + ": ESRCH");
  }

  @Test
  void stoppingAndContinuingIsNoExit() throws Exception {
    Pidfd child = sleeper();
    child.signal(Signal.STOP);
    Awaitility.await().until(() -> Children.status(child.pid(), "State").startsWith("T"));
    assertThat(child.reap()).isEmpty();
    child.signal(Signal.CONT);
    child.signal(Signal.TERM);
    assertThat(Children.awaitExit(child).status()).isEqualTo(Signal.TERM.number());
  }
}
