package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.EbbClient;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon that a command starts, and its removal by {@code ebb purge}. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonCliStartAcceptanceTest {
  private static final Pattern STARTED =
      Pattern.compile("ebb: started the daemon, pid (\\d+); ebb serve runs it in the foreground\n");

  /** The shell adds PWD and OLDPWD. */
  private static final Predicate<String> OF_THE_DAEMON =
      Pattern.compile(
              "(EBB_\\w+|PATH|HOME|JAVA_HOME|LANG|RES_OPTIONS|LC_\\w+|TZ|PWD|OLDPWD|MALLOC_ARENA_MAX)=.*")
          .asMatchPredicate();

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private Path home;
  private Ebb ebb;

  @BeforeEach
  void lendHome() throws Exception {
    home = host.home();
    ebb = new Ebb(home);
  }

  /** Removes all that a test left. The daemon has lost its parent, so this process reaps it. */
  @AfterEach
  void purge() throws Exception {
    if (Files.exists(home.resolve("instances"))) {
      assertThat(ebb.call("purge", "--yes").code()).isZero();
    }
    TestHost.reapOrphans();
  }

  @Test
  void concurrentCommandsStartOneDaemon() throws Exception {
    var calls = new ArrayList<Process>();
    for (String name : new String[] {"a", "b", "c"}) {
      calls.add(ebb.start("create", "--name", name));
    }
    var said = new StringBuilder();
    for (Process call : calls) {
      said.append(new String(call.getErrorStream().readAllBytes(), UTF_8));
      assertThat(call.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(call.exitValue()).as(said.toString()).isZero();
    }

    assertThat(said.toString()).matches(STARTED);
    assertThat(ebb.call("ls", "-q").text().lines()).hasSize(3);
    var started = STARTED.matcher(said);
    assertThat(started.find()).isTrue();
    Path process = Path.of("/proc/" + started.group(1));
    assertThat(process.resolve("cwd").toRealPath()).isEqualTo(Path.of("/"));
    assertThat(Files.readString(process.resolve("environ")).split("\0"))
        .contains("EBB_HOME=" + home)
        .allMatch(OF_THE_DAEMON);
    assertThat(process.resolve("fd/0").toRealPath()).isEqualTo(Path.of("/dev/null"));
    assertThat(home.resolve("daemon.log")).content().contains("serving on " + home);

    var purge = ebb.call("purge", "--yes");
    assertThat(purge.code()).as(purge.stderr()).isZero();
    assertThat(purge.text())
        .startsWith("stopped    the daemon, pid " + started.group(1) + "\n")
        .contains("removed    " + home + "/instances\n")
        .endsWith("removed    " + home + "\n");
    assertThat(home).doesNotExist();
    assertThat(ebb.call("purge", "--yes").text()).contains("nothing to remove");
  }

  @Test
  void theReasonWhyADaemonDidNotStartIsReported() throws Exception {
    Files.writeString(home.resolve("ebb.toml"), "colour = \"blue\"\n");

    var create = ebb.call("create");

    assertThat(create.code()).isEqualTo(125);
    assertThat(create.stderr())
        .startsWith("ebb: the daemon did not start; see " + home.resolve("daemon.log") + "\n")
        .contains("unknown key \"colour\"");
    var ls = ebb.call("ls");
    assertThat(ls.code()).isEqualTo(125);
    assertThat(ls.stderr()).contains("no daemon answers at " + home.resolve("ebb.sock"));
    var purge = ebb.call("purge", "--yes");
    assertThat(purge.stderr()).isEqualTo("ebb: kept " + home + "/ebb.toml: it is not Ebb's\n");
    Files.delete(home.resolve("ebb.toml"));
  }

  @Test
  void purgeRefusesWhileAnotherRuntimeLives() throws Exception {
    Process run = ebb.start("run", "--", "sh", "-c", "echo up; sleep 100");
    assertThat(run.inputReader(UTF_8).readLine()).isEqualTo("up");

    var refused = ebb.call("purge", "--yes");

    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.stderr()).contains("in use by pid " + run.pid());
    assertThat(ebb.call("purge").stderr()).contains("add --yes to confirm");
    assertThat(run.isAlive()).isTrue();
    // Purge first releases what the killed runtime left.
    run.destroyForcibly().waitFor();
    var purge = ebb.call("purge", "--yes");
    assertThat(purge.code()).as(purge.stderr()).isZero();
    assertThat(purge.text()).contains("removed    " + home + "\n");
    assertThat(home).doesNotExist();
  }

  /** A killed torture leaves such a home, of a daemon with detached boxes. */
  @Test
  void purgeRemovesSideHomes() throws Exception {
    assertThat(ebb.call("run", "--", "true").code()).isZero();
    Path side = Files.createDirectories(home.resolve("side").resolve("0badcafe"));
    Path second = Files.createDirectory(home.resolve("side").resolve("0badbeef"));
    Process living = hold(second);
    var aside = new Ebb(side);
    var created = aside.call("create", "--name", "left");
    assertThat(created.code()).as(created.stderr()).isZero();
    HostBox left;
    try (EbbClient client = EbbClient.connect(side.resolve("ebb.sock"))) {
      left = HostBox.look(client, "left");
    }
    left.assertIsThere();

    var refused = ebb.call("purge", "--yes");

    assertThat(refused.code()).as(refused.text()).isEqualTo(125);
    assertThat(refused.text()).contains("a living process has a home there");
    // The supervisors of its daemon, or this process, reap the rest.
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () -> {
              TestHost.reapOrphans();
              left.assertIsGone();
            });
    assertThat(side).doesNotExist();
    assertThat(second).isEmptyDirectory();
    assertThat(living.isAlive()).isTrue();
    living.destroyForcibly().waitFor();
    var purge = ebb.call("purge", "--yes");
    assertThat(purge.code()).as(purge.stderr()).isZero();
    assertThat(home).doesNotExist();
  }

  /** Starts a process that holds the lock of {@code directory}. */
  private static Process hold(Path directory) throws Exception {
    Process process =
        new ProcessBuilder(
                "sh",
                "-c",
                "exec 9< \"$0\"; flock 9; echo up; exec sleep 1000",
                directory.toString())
            .start();
    assertThat(process.inputReader(UTF_8).readLine()).isEqualTo("up");
    return process;
  }

  /** Purge keeps a link and its target, as it keeps a mount point. */
  @Test
  void aHomeThatPurgeLeavesEmptyIsUsedAgain() throws Exception {
    Path link = home.resolveSibling(home.getFileName() + "-link");
    Files.createSymbolicLink(link, home);
    try {
      var linked = new Ebb(link);
      for (int i = 0; i < 2; i++) {
        assertThat(linked.call("run", "--", "echo", "hi").text()).isEqualTo("hi\n");
        var purge = linked.call("purge", "--yes");
        assertThat(purge.code()).as(purge.stderr()).isZero();
        assertThat(home).isEmptyDirectory();
      }
      assertThat(linked.call("purge").text())
          .isEqualTo("nothing to remove: " + link + " is empty\n");
    } finally {
      Files.delete(link);
    }
  }

  @Test
  void purgeAsksForConfirmationOnATerminal() throws Exception {
    assertThat(ebb.call("run", "--", "true").code()).isZero();

    assertThat(Pty.run(home, "1", "n\\r", "purge").output()).contains("nothing was removed");
    assertThat(home.resolve("lib")).exists();
    assertThat(Pty.run(home, "1", "y\\r", "purge").code()).isZero();
    assertThat(home).doesNotExist();
  }
}
