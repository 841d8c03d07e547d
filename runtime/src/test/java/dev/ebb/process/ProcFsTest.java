package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.Children;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@LeakChecked
class ProcFsTest {
  private static final int SELF = (int) ProcessHandle.current().pid();

  private final Children children = new Children();
  @TempDir Path directory;

  @AfterEach
  void close() throws KernelException {
    children.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "plain",
        "two words",
        "x) S 1 (y",
        ") Z 1 1 1 1",
        "((((",
        "))))",
        "new\nline",
        "tab\tand\\",
        "häßlich"
      })
  void theCommandsNameDoesNotConfuse(String name) throws Exception {
    Path program = Files.copy(Path.of("/bin/cat"), directory.resolve(name));
    int pid = children.spawn(program, "cat");
    ProcFs.Stat stat = ProcFs.stat(pid).orElseThrow();
    assertThat(stat.pid()).isEqualTo(pid);
    assertThat(stat.parent()).isEqualTo(SELF);
    assertThat(stat.isZombie()).isFalse();
    assertThat(stat.startTime())
        .isGreaterThanOrEqualTo(ProcFs.stat(SELF).orElseThrow().startTime());
    children.kill(pid);
    assertThat(ProcFs.stat(pid).orElseThrow().isZombie()).isTrue();
    assertThat(ProcFs.stat(pid).orElseThrow().startTime()).isEqualTo(stat.startTime());
  }

  @Test
  void aProcessThatIsGoneIsAbsent() throws Exception {
    int pid = children.sleeper();
    children.kill(pid);
    assertThat(children.awaitSignal(pid)).isEqualTo(9);
    assertThat(ProcFs.stat(pid)).isEmpty();
    assertThat(ProcFs.cgroup(pid)).isEmpty();
    assertThat(ProcFs.commandLine(pid)).isEmpty();
    assertThat(ProcFs.waitChannel(pid)).isEqualTo("?");
  }

  /** KERNEL: the first thread of such a process shows as a zombie, while the process lives. */
  @Test
  void aProcessWithAnEndedFirstThreadIsNoZombie() throws Exception {
    int pid =
        children.python(
            """
            import ctypes, os, threading
            def live():
                while open("/proc/self/stat").read().split(") ")[1][0] != "Z":
                    pass
                os.write(1, b"!")
                os.read(0, 1)
            threading.Thread(target=live).start()
            ctypes.CDLL(None).pthread_exit(None)
            """);
    assertThat(ProcFs.stat(pid).orElseThrow().state()).isEqualTo('Z');
    assertThat(ProcFs.stat(pid).orElseThrow().isZombie()).isFalse();
    assertThat(ProcessRef.of(pid).orElseThrow().isAlive()).isTrue();
  }

  @Test
  void theCommandLineHasBlanksBetweenItsWords() throws Exception {
    int pid = children.spawn(Path.of("/bin/cat"), "cat", "-", "two words");
    // KERNEL: a spawn is over a moment before the new program's arguments are in their place.
    Awaitility.await().until(() -> !ProcFs.commandLine(pid).isEmpty());
    assertThat(ProcFs.commandLine(pid)).isEqualTo("cat - two words");
    children.kill(pid);
    assertThat(ProcFs.commandLine(pid)).isEmpty();
  }

  @Test
  void theCgroupIsThatOfVersion2AlsoOfAZombie() throws Exception {
    int pid = children.sleeper();
    String cgroup = ProcFs.cgroup(pid).orElseThrow();
    assertThat(cgroup).isEqualTo(ProcFs.cgroup(SELF).orElseThrow()).startsWith("/");
    children.kill(pid);
    assertThat(ProcFs.cgroup(pid)).contains(cgroup);
  }

  @Test
  void childrenAreFoundWhicheverThreadStartedThem() throws Exception {
    int mine = children.sleeper();
    var others = new int[1];
    Thread thread = Thread.ofPlatform().start(() -> others[0] = startSleeper());
    thread.join();
    children.kill(mine);
    assertThat(ProcFs.children()).as("zombies too").contains(mine, others[0]);
    assertThat(children.awaitSignal(mine)).isEqualTo(9);
    assertThat(ProcFs.children()).contains(others[0]).doesNotContain(mine);
  }

  /** RACE: its end moves what it started to another thread. */
  @Test
  void noChildIsMissedWhileAThreadEnds() throws Exception {
    int child = children.sleeper();
    children.kill(child);
    for (int i = 0; i < 300; i++) {
      var started = new int[1];
      Thread thread = Thread.ofPlatform().start(() -> started[0] = startSleeper());
      thread.join();
      assertThat(ProcFs.children()).as("round %d", i).contains(started[0], child);
      children.kill(started[0]);
      assertThat(children.awaitSignal(started[0])).isEqualTo(9);
    }
    assertThat(children.awaitSignal(child)).isEqualTo(9);
  }

  private int startSleeper() {
    try {
      return children.sleeper();
    } catch (KernelException e) {
      throw new IllegalStateException(e);
    }
  }
}
