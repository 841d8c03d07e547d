package dev.ebb.exec;

import static dev.ebb.exec.Workbench.assertIdle;
import static dev.ebb.exec.Workbench.awaitOutput;
import static dev.ebb.exec.Workbench.python;
import static dev.ebb.exec.Workbench.sh;
import static dev.ebb.exec.Workbench.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause.Exited;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A box is released whatever a command puts into its workspace. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class WorkspaceKernelTest {
  /** Each prints how much of it there is in the end. */
  enum Litter {
    DEEP_TREE(
        """
        for _ in range(3000): os.mkdir("d" * 20); os.chdir("d" * 20)
        print(3000)
        """,
        3000),

    TEN_THOUSAND_FILES(
        """
        for i in range(10_000): open(str(i), "w").close()
        print(len(os.listdir(".")))
        """,
        10_000),

    ODD_NAMES(
        """
        names = [b"new\\nline", b"x" * 255, b"\\xff\\xfe", b"-rf", b" ", b"*", b"$(id)", b"\\x1b[31m"]
        for name in names: os.close(os.open(name, os.O_CREAT))
        print(len(os.listdir(b".")))
        """,
        8),

    SYMLINK_LOOPS(
        """
        os.symlink("a", "b"); os.symlink("b", "a"); os.symlink(".", "self")
        os.symlink("/", "root"); os.symlink("/proc/self/root", "proc"); os.symlink("..", "up")
        print(len(os.listdir(".")))
        """,
        6),

    READ_ONLY_DIRECTORIES(
        """
        for i in range(50):
            os.makedirs(f"{i}/inner"); open(f"{i}/inner/file", "w").close()
            os.chmod(f"{i}/inner/file", 0); os.chmod(f"{i}/inner", 0); os.chmod(f"{i}", 0o555)
        os.chmod(".", 0o555)
        print(len(os.listdir(".")))
        """,
        50),

    ODD_KINDS(
        """
        import socket
        os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("socket")
        for i in range(500): os.link("fifo", f"link-{i}")
        sparse = os.open("sparse", os.O_CREAT | os.O_WRONLY); os.ftruncate(sparse, 100 << 20)
        print(len(os.listdir(".")))
        """,
        503);

    private final String program;
    private final int count;

    Litter(String program, int count) {
      this.program = program;
      this.count = count;
    }

    ExecSpec spec() {
      return python("import os\n" + program);
    }
  }

  @RegisterExtension final Workbench bench = new Workbench();

  @ParameterizedTest
  @EnumSource
  void litterOfACommandGoesWithItsBox(Litter litter) throws IOException, InterruptedException {
    var run = bench.run(litter.spec());
    assertThat(run.cause()).as(run.stderr().text()).isEqualTo(new Exited(0));
    assertThat(run.stdout().text()).isEqualTo(litter.count + "\n");
  }

  /** The control: it is the end of the box that takes the litter, not that of the command. */
  @ParameterizedTest
  @EnumSource
  void litterOfACommandStaysAsLongAsItsBox(Litter litter)
      throws IOException, InterruptedException, KernelException {
    Box box = bench.box();
    bench.run(box, litter.spec());
    Exec look = bench.start(box, sh("ls -A | wc -l"));
    assertThat(Workbench.await(look).cause()).isEqualTo(new Exited(0));
    assertThat(text(look.stdout())).isNotEqualTo("0\n");
    assertIdle(box);
  }

  @Test
  void eachBoxHasAWorkspaceOfItsOwn() throws IOException, InterruptedException {
    bench.run(bench.box(), sh("touch mine /tmp/mine /dev/shm/mine"));
    Exec other = bench.start(bench.box(), sh("ls -A /workspace /dev/shm; ls /tmp/mine"));
    Workbench.await(other);
    assertThat(text(other.stdout())).isEqualTo("/dev/shm:\n\n/workspace:\n");
  }

  /** Removed, or its working directory, or mapped: what is in use goes with its user. */
  @Test
  void filesInUseAreNoObstacle() throws IOException {
    Box box = bench.box();
    Exec exec =
        bench.start(
            box,
            python(
                """
                import mmap, os, time
                os.mkdir("gone"); os.chdir("gone"); os.rmdir("/workspace/gone")
                file = os.open("/workspace/mapped", os.O_CREAT | os.O_RDWR)
                os.ftruncate(file, 1 << 20)
                memory = mmap.mmap(file, 1 << 20); memory[:4] = b"used"
                os.unlink("/workspace/mapped")
                os.write(1, b"ready\\n"); time.sleep(1000)
                """));
    awaitOutput(exec, "ready");
    var certificate = bench.engine().release(box);
    assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
  }
}
