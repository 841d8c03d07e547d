package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.kernel.Self;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

@LeakChecked
class ChildJvmTest {
  @Test
  void itSpeaksAndEndsByItself() throws Exception {
    try (var jvm = ChildJvm.start(Main.class, "exit")) {
      assertThat(jvm.awaitExit()).isEqualTo(3);
      assertThat(jvm.lines()).containsExactly("uid " + Self.uid(), "argument exit");
    }
  }

  @Test
  void killedItIsDeadAndItsOrphansAreOurs() throws Exception {
    try (var jvm = ChildJvm.start(Main.class, "child")) {
      int orphan = Integer.parseInt(jvm.awaitLine("child ").substring("child ".length()));
      jvm.kill();
      assertThat(jvm.isAlive()).isFalse();
      assertThat(jvm.awaitExit()).isEqualTo(128 + 9);
      assertThat(Path.of("/proc/" + jvm.pid())).doesNotExist();
      ProcessHandle.of(orphan).orElseThrow().destroyForcibly();
      await().until(() -> TestHost.reapOrphans() == 1);
      assertThat(Path.of("/proc/" + orphan)).doesNotExist();
    }
  }

  @Test
  void closingItEndsIt() throws Exception {
    int pid;
    try (var jvm = ChildJvm.start(Main.class, "wait")) {
      jvm.awaitLine("argument");
      pid = jvm.pid();
    }
    assertThat(Path.of("/proc/" + pid)).doesNotExist();
  }

  @Test
  void aLineThatNeverComesIsAFailureThatSaysWhatCame() throws Exception {
    try (var jvm = ChildJvm.start(Main.class, "exit")) {
      assertThatThrownBy(() -> jvm.awaitLine("hello"))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("argument exit");
    }
  }

  /** The program that runs in the child. */
  public static final class Main {
    private Main() {}

    /** Shows that native access is given, and does what it is asked. */
    public static void main(String[] arguments) throws Exception {
      System.out.println("uid " + Self.uid());
      System.out.println("argument " + arguments[0]);
      switch (arguments[0]) {
        case "exit" -> System.exit(3);
        case "child" ->
            System.out.println("child " + new ProcessBuilder("sleep", "60").start().pid());
        default -> {}
      }
      new CountDownLatch(1).await();
    }
  }
}
