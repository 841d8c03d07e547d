package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.FrozenDisk;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The verbs of the daemon, as one types them. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
class DaemonCliAcceptanceTest {
  private static final String CERTIFICATE =
      "b[0-9a-f]{12}: released process 1, .*descriptor \\d+ in \\d+ ms; nothing left\n";

  /** A command as help lists it. */
  private static final Pattern OPTION =
      Pattern.compile("^ +(?:-\\w, )?(--[a-z-]+)", Pattern.MULTILINE);

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  @TempDir Path directory;

  private static Ebb.Outcome call(String... words) throws Exception {
    return DAEMON.ebb().call(words);
  }

  /** Runs ebb, and returns its output if it succeeds. */
  private static String ebb(String... words) throws Exception {
    var outcome = call(words);
    assertThat(outcome.code()).as("%s: %s", List.of(words), outcome.stderr()).isZero();
    assertThat(outcome.stderr()).as("%s", List.of(words)).isEmpty();
    return outcome.text();
  }

  private static JsonObject json(String... words) throws Exception {
    String text = ebb(words);
    assertThat(text.lines()).hasSize(1);
    return Json.readObject(text);
  }

  private static void fails(String message, String... words) throws Exception {
    var outcome = call(words);
    assertThat(outcome.stderr()).startsWith("ebb").contains(message);
    assertThat(outcome.code()).isEqualTo(125);
  }

  @Test
  void aBoxIsMadeByTheBackendThatItNames() throws Exception {
    String named = ebb("create", "--backend", "bubblewrap").strip();
    String any = ebb("create").strip();
    assertThat(json("inspect", "--json", named).string("backend")).isEqualTo("bubblewrap");
    assertThat(json("inspect", "--json", any).string("backend"))
        .isIn("bubblewrap", "forkserver", "zygote");
    for (JsonObject box : json("ls", "--json").objects("boxes")) {
      assertThat(box.string("backend")).isNotEmpty();
    }
    fails(
        "unknown backend \"moon\": choose one of zygote, forkserver, bubblewrap",
        "create",
        "--backend",
        "moon");
    fails("unknown backend \"moon\": choose one of", "run", "--backend", "moon", "--", "true");
    fails(
        "backend forkserver cannot show directories of the host",
        "create",
        "--backend",
        "forkserver",
        "--packages",
        directory.toString());
    ebb("rm", "-f", named);
    ebb("rm", "-f", any);
  }

  @Test
  void aBoxIsMadeListedStoppedAndForgotten() throws Exception {
    String id = ebb("create", "--name", "life", "-l", "team=red", "--memory", "64m").strip();

    assertThat(ebb("ls"))
        .startsWith("BOX ")
        .containsPattern(id + "  life  running  \\d+m?s +0 +team=red\n");
    assertThat(ebb("ls", "-q", "-l", "team=red")).isEqualTo(id + "\n");
    assertThat(ebb("ls", "-q", "-l", "team=blue")).isEmpty();
    assertThat(json("ls", "--json").objects("boxes").getFirst().string("id")).isEqualTo(id);
    assertThat(json("inspect", "--json", "life").object("limits").number("memoryBytes"))
        .isEqualTo(64 << 20);
    fails("is taken", "create", "--name", "life");
    fails("stop it first", "rm", "life");
    assertThat(ebb("stop", "life")).matches(CERTIFICATE);
    assertThat(ebb("ls", "-q")).isEmpty();
    assertThat(ebb("ls", "-a")).contains(id).contains("gone");
    assertThat(ebb("rm", "life")).matches(CERTIFICATE);
    assertThat(ebb("rm", "life")).matches(CERTIFICATE);
    fails("no box \"life\": it was removed at ", "stop", "life");
  }

  @Test
  void removingByForceProvesItOrNamesIt() throws Exception {
    ebb("create", "--name", "one");
    ebb("create", "--name", "two");
    ebb("create", "--name", "three");

    assertThat(ebb("rm", "-f", "one")).matches(CERTIFICATE);
    assertThat(ebb("rm", "-f", "-q", "two")).isEqualTo("two\n");
    assertThat(json("rm", "-f", "--json", "three").object("certificate").isTrue("clean")).isTrue();
  }

  /** A process in state D outlives SIGKILL. */
  @Test
  void whatIsStuckIsSaidAndExitsWith125() throws Exception {
    TestHost.require(Feature.ROOT, Feature.LOOP_DEVICES);
    FrozenDisk disk = FrozenDisk.mount();
    try {
      ebb("create", "--name", "stuck", "--mount", disk.path() + ":/data");
      ebb(
          "exec",
          "-d",
          "stuck",
          "sh",
          "-c",
          "until [ -e go ]; do sleep 0.01; done; echo > /data/x");
      disk.freeze();
      ebb("exec", "stuck", "touch", "go");
      await().atMost(DaemonProcess.PATIENCE).until(() -> ebb("ps", "stuck").contains("  D  "));

      var removed = call("rm", "-f", "stuck");

      assertThat(removed.code()).isEqualTo(125);
      assertThat(removed.text()).contains("stuck: process", "state D");
      assertThat(removed.stderr()).isEqualTo("ebb: stuck is stuck; see ebb why stuck\n");
      assertThat(ebb("why", "stuck")).contains("sleeps in the kernel");
      String pid = removed.text().replaceAll("(?s).*process (\\d+).*", "$1");
      assertThat(ebb("why", pid)).contains("process " + pid + " sleeps in the kernel");
      assertThat(json("why", "--json", pid).string("reason")).contains("sleeps in the kernel");
      fails("is taken", "create", "--name", "stuck");
      disk.thaw();
      // No client repeats the request: the daemon retries until the box is gone.
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> call("inspect", "stuck").stderr().contains("no box"));
      fails("no box or process of a box: " + pid, "why", pid);
      assertThat(ebb("rm", "-f", "stuck")).contains("nothing left");
      fails("no box or process of a box: stuck", "why", "stuck");
    } finally {
      disk.unmount();
    }
  }

  @Test
  void theExitCodeIsThatOfTheCommand() throws Exception {
    ebb("create", "--name", "codes");

    var three = call("exec", "codes", "--", "sh", "-c", "echo out; echo err >&2; exit 3");
    assertThat(three.code()).isEqualTo(3);
    assertThat(three.text()).isEqualTo("out\n");
    assertThat(three.stderr()).isEqualTo("err\n");
    assertThat(call("exec", "codes", "sh", "-c", "kill -9 $$").code()).isEqualTo(137);
    var late = call("exec", "--timeout", "200ms", "--grace", "0", "codes", "sleep", "60");
    assertThat(late.code()).isEqualTo(124);
    assertThat(late.stderr()).contains("timed out");
    var absent = call("exec", "codes", "nosuchcommand");
    assertThat(absent.code()).isEqualTo(127);
    assertThat(absent.stderr()).contains("nosuchcommand", "not found");
    assertThat(call("exec", "codes", "/etc/hosts").code()).isEqualTo(126);
    fails("no box \"nobody\"", "exec", "nobody", "true");
    fails("no command given", "exec", "codes");
    var result =
        json("exec", "--json", "-e", "A=b", "-w", "/tmp", "codes", "sh", "-c", "echo $A $PWD");
    assertThat(result.object("stdout").string("text")).isEqualTo("b /tmp\n");
    ebb("rm", "-f", "codes");
  }

  @Test
  void aPipeGoesThroughByteByByte() throws Exception {
    byte[] noise = new byte[2_000_000];
    new Random(1).nextBytes(noise);
    ebb("create", "--name", "pipe");

    var run = DAEMON.ebb().call(noise, "exec", "-i", "pipe", "cat");

    assertThat(run.code()).as(run.stderr()).isZero();
    assertThat(Arrays.equals(run.stdout(), noise)).isTrue();
    ebb("rm", "-f", "pipe");
  }

  @Test
  void filesAreCopiedBothWays() throws Exception {
    ebb("create", "--name", "files");
    Path file = Files.writeString(directory.resolve("in"), "hello");
    Path tree = Files.createDirectories(directory.resolve("tree/sub"));
    Files.writeString(tree.resolve("leaf"), "green");
    Files.createSymbolicLink(tree.resolve("link"), Path.of("leaf"));

    ebb("cp", file.toString(), "files:there");
    ebb("cp", directory.resolve("tree").toString(), "files:/workspace");
    assertThat(ebb("exec", "files", "sh", "-c", "cat there tree/sub/link")).isEqualTo("hellogreen");
    ebb("cp", "files:there", directory.resolve("out").toString());
    assertThat(directory.resolve("out")).hasContent("hello");
    ebb("cp", "files:tree", directory.resolve("copy").toString());
    assertThat(directory.resolve("copy/sub/leaf")).hasContent("green");
    assertThat(directory.resolve("copy/sub/link")).isSymbolicLink();
    var tar = call("cp", "files:tree", "-");
    ebb("exec", "files", "mkdir", "again");
    assertThat(DAEMON.ebb().call(tar.stdout(), "cp", "-", "files:again").code()).isZero();
    assertThat(ebb("exec", "files", "sh", "-c", "cat $(find again -name leaf)")).isEqualTo("green");
    fails("nowhere", "cp", "files:nowhere", directory.resolve("x").toString());
    fails("no such file", "cp", directory.resolve("nowhere").toString(), "files:x");
    fails("one of the two must be in a box", "cp", "a", "b");
    ebb("rm", "-f", "files");
  }

  @Test
  void commandsAreFollowedWaitedForAndKilled() throws Exception {
    ebb("create", "--name", "work");
    assertThat(
            ebb("exec", "-d", "work", "sh", "-c", "echo a; sleep 3; echo b >&2; sleep 1; exit 7"))
        .isEqualTo("1\n");

    var followed = call("logs", "-f", "work");
    assertThat(followed.code()).isZero();
    assertThat(followed.text() + followed.stderr()).isEqualTo("a\nb\n");
    assertThat(ebb("wait", "work", "1")).isEqualTo("7\n");
    assertThat(call("logs", "work", "1").text()).isEqualTo("a\n");
    ebb("exec", "-d", "work", "sh", "-c", "sleep 3; exit 6");
    assertThat(ebb("wait", "work")).isEqualTo("6\n");
    ebb("exec", "-d", "work", "sleep", "100");
    assertThat(call("wait", "--timeout", "100ms", "work").code()).isEqualTo(124);
    assertThat(ebb("ps", "--execs", "work")).contains("EXEC ", "3     running", "sleep 100");
    assertThat(ebb("ps", "-a", "work")).contains("1     exited   7");
    assertThat(ebb("ps", "--execs", "-q", "work")).isEqualTo("3\n");
    assertThat(ebb("kill", "-s", "INT", "work", "3")).isEqualTo("3\n");
    assertThat(ebb("wait", "work")).isEqualTo("130\n");
    ebb("exec", "-d", "work", "sleep", "100");
    ebb("kill-all", "--grace", "0", "work");
    assertThat(json("inspect", "--json", "work", "4").integerOrNull("exitCode")).isEqualTo(137);
    ebb("rm", "-f", "work");
  }

  @Test
  void theProcessesAreATree() throws Exception {
    // Without cgroups a command has a subreaper above it.
    boolean hasSubreaper = !Feature.CGROUPS.isPresent();
    ebb("create", "--name", "tree");
    ebb("exec", "-d", "tree", "sh", "-c", "sleep 101 & sleep 102");
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> ebb("ps", "-q", "tree").lines().count() == (hasSubreaper ? 5 : 4));

    var processes = json("ps", "--json", "tree").objects("processes");
    long shell = processes.get(hasSubreaper ? 2 : 1).number("pid");
    assertThat(ebb("ps", "tree"))
        .startsWith("PID ")
        .containsPattern("\n" + shell + " +\\d+ +1 +S +  sh -c sleep 101 & sleep 102\n")
        .containsPattern("\n\\d+ +" + shell + " +1 +S +    sleep 101\n")
        .containsPattern("\n\\d+ +" + shell + " +1 +S +    sleep 102\n");
    assertThat(processes.get(0).numberOrNull("exec")).isNull();
    for (JsonObject process : processes) {
      // Init runs for a moment when it is asked.
      assertThat(process.string("state")).isIn("R", "S");
      assertThat(Files.readString(Path.of("/proc/" + process.number("pid") + "/stat")))
          .containsPattern("\\) [RS] " + process.number("parent") + " ");
    }
    assertThat(ebb("top", "tree")).contains("sleep 102");
    assertThat(ebb("stats", "tree")).startsWith("BOX ").contains("tree");
    if (Feature.CGROUPS.isPresent()) {
      var usage = json("stats", "--json", "tree").objects("boxes").getFirst().object("usage");
      assertThat(usage.number("processes")).isEqualTo(3);
      assertThat(usage.number("memoryBytes")).isPositive();
      assertThat(usage.objectOrNull("pressure") != null)
          .isEqualTo(Files.exists(Path.of("/proc/pressure/cpu")));
    }
    ebb("rm", "-f", "tree");
  }

  @Test
  void aPausedBoxStandsStill() throws Exception {
    TestHost.require(Feature.CGROUPS);
    String id = ebb("create", "--name", "still").strip();

    ebb("pause", "still");
    assertThat(ebb("ls", "-q", "--state", "paused")).isEqualTo(id + "\n");
    ebb("resume", "still");
    assertThat(ebb("exec", "still", "echo", "on")).isEqualTo("on\n");
    ebb("rm", "-f", "still");
  }

  @Test
  void eventsArePrintedAsTheyHappen() throws Exception {
    Process events = DAEMON.ebb().start("events", "--json");
    try (var lines = events.inputReader(UTF_8)) {
      // The first box may end before the client listens: only the later ones are sure to be
      // published.
      String line = "";
      while (line.isEmpty()) {
        ebb("rm", "-f", ebb("create", "--name", "watched").strip());
        line = lines.ready() ? lines.readLine() : "";
      }
      ebb("run", "-d", "--rm", "--name", "last", "--", "sh", "-c", "exit 4");
      while (!line.contains("\"name\":\"last\"") || !line.contains("\"exitCode\":4")) {
        line = lines.readLine();
      }
      JsonObject ended = Json.readObject(line);
      assertThat(ended.string("status")).isEqualTo("exited");
      assertThat(firstEvent("--after", Long.toString(Long.parseLong(ended.string("id")) - 1)))
          .isEqualTo(ended);
    } finally {
      end(events);
    }
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> ebb("ls", "-a", "-q", "--name", "last").isEmpty());
  }

  private static JsonObject firstEvent(String... options) throws Exception {
    var words = new ArrayList<>(List.of("events", "--json"));
    words.addAll(List.of(options));
    Process events = DAEMON.ebb().start(words.toArray(String[]::new));
    try (var lines = events.inputReader(UTF_8)) {
      return Json.readObject(lines.readLine());
    } finally {
      end(events);
    }
  }

  private static void end(Process process) throws InterruptedException {
    process.destroy();
    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aDetachedRunStaysUnlessItIsToBeRemoved() throws Exception {
    assertThat(ebb("run", "--rm", "--", "echo", "attached")).isEqualTo("attached\n");
    String stays = ebb("run", "-d", "--name", "stays", "--", "sh", "-c", "echo done").strip();
    String goes = ebb("run", "-d", "--rm", "--", "sleep", "0.3").strip();

    assertThat(ebb("wait", "stays")).isEqualTo("0\n");
    assertThat(ebb("logs", "stays")).isEqualTo("done\n");
    await().atMost(DaemonProcess.PATIENCE).until(() -> !ebb("ls", "-a", "-q").contains(goes));
    assertThat(ebb("ls", "-q")).isEqualTo(stays + "\n");
    fails("nosuchcommand", "run", "-d", "--rm", "--mount", "/nosuchcommand:/x", "--", "true");
    ebb("rm", "-f", "stays");
    assertThat(ebb("ls", "-a", "-q", "--name", "stays")).isEmpty();
  }

  // --- terminals ---

  @Test
  void ctrlCOnATerminalInterruptsTheCommand() throws Exception {
    ebb("create", "--name", "tty");

    var at = Pty.run(DAEMON.home(), "raw", "\\x03", "exec", "-it", "tty", "sleep", "100");
    assertThat(at.code()).as(at.output()).isEqualTo(130);
    var typed =
        Pty.run(DAEMON.home(), "raw", "echo $((6*7))\\rexit 5\\r", "exec", "-it", "tty", "sh");
    assertThat(typed.code()).isEqualTo(5);
    assertThat(typed.output()).contains("42");
    assertThat(ebb("ps", "--execs", "-q", "tty")).isEmpty();
    ebb("rm", "-f", "tty");
  }

  @Test
  void theTerminalOfTheCommandIsAsLargeAsOurs() throws Exception {
    ebb("create", "--name", "size");
    String script = "stty size; until [ \"$(stty size)\" = '50 132' ]; do sleep 0.05; done; exit 6";
    var resized = Pty.resize(DAEMON.home(), "exec", "-it", "size", "sh", "-c", script);
    assertThat(resized.output()).startsWith("30 100");
    assertThat(resized.code()).as(resized.output()).isEqualTo(6);
    ebb("rm", "-f", "size");
  }

  /** A daemon that stands still has been asked to start it, and has not answered. */
  @Test
  void ctrlCWhileTheCommandIsBeingStartedLeavesNothing() throws Exception {
    ebb("create", "--name", "moment");
    signalDaemon("STOP");
    var cut =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return Pty.run(
                    DAEMON.home(), "1.5", "\\x03", "exec", "-it", "moment", "sleep", "100");
              } catch (Exception e) {
                throw new IllegalStateException(e);
              }
            },
            task -> Thread.ofPlatform().name("pty").start(task));
    try {
      cut.get(2500, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // The command waits for the daemon.
    } finally {
      signalDaemon("CONT");
    }

    assertThat(cut.join().code()).as(cut.join().output()).isIn(130, -2);
    assertThat(ebb("ps", "--execs", "-q", "moment")).isEmpty();
    ebb("rm", "-f", "moment");
  }

  private static void signalDaemon(String signal) throws Exception {
    var kill = new ProcessBuilder("kill", "-" + signal, Long.toString(DAEMON.pid())).start();
    assertThat(kill.waitFor()).isZero();
  }

  @Test
  void hangingUpEndsTheCommandAndItsBox() throws Exception {
    var gone = Pty.run(DAEMON.home(), "raw", "", "run", "-it", "--", "sleep", "100");

    assertThat(gone.code()).as(gone.output()).isEqualTo(129);
    await().atMost(DaemonProcess.PATIENCE).until(() -> ebb("ls", "-q").isEmpty());
  }

  @Test
  void hangingUpEndsThemThoughTheSignalIsIgnored() throws Exception {
    var gone = Pty.hangUpIgnored(DAEMON.home(), "run", "-it", "--", "sleep", "100");

    assertThat(gone.code()).as(gone.output()).isEqualTo(129);
    await().atMost(DaemonProcess.PATIENCE).until(() -> ebb("ls", "-q").isEmpty());
  }

  // --- words ---

  @Test
  void helpListsWhatTheServerDoes() throws Exception {
    assertThat(ebb("help")).contains("serve ", "config ", "key ", "purge ", "completion ");
    for (String verb : List.of("serve", "config", "key")) {
      String help = ebb("help", verb);
      assertThat(help).startsWith("Usage: ebb " + verb);
      assertThat(ebb("help").replaceAll("\\s+", " ")).contains(help.lines().toList().get(1));
    }
    assertThat(ebb("help", "serve")).contains("--listen");
  }

  @Test
  void bashCompletesVerbsAndOptions() throws Exception {
    String script =
        """
        source <(cat) 2>/dev/null
        compopt() { :; }
        try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _complete_ebb; echo "${COMPREPLY[*]}"; }
        complete -p ebb
        try ebb pu
        try ebb exec --ti
        try ebb key re
        """;
    Process bash = new ProcessBuilder("bash", "-c", script).redirectErrorStream(true).start();
    try (var in = bash.outputWriter(UTF_8)) {
      in.write(ebb("completion", "bash"));
    }

    assertThat(new String(bash.getInputStream().readAllBytes(), UTF_8))
        .isEqualTo("complete -o default -F _complete_ebb ebb\npurge\n--timeout\nrevoke\n");
    assertThat(ebb("completion", "zsh")).contains("bashcompinit");
    fails("bad shell", "completion", "fish");
  }

  /** The options of the server's commands are declared twice. */
  @Test
  void everyOptionIsCompleted() throws Exception {
    String script = ebb("completion", "bash");
    for (String verb : List.of("serve", "config", "key create", "run")) {
      String help = call((verb + " --help").split(" ")).text();
      String function = "function _picocli_ebb_" + verb.replace(' ', '_') + "()";
      assertThat(script).contains(function);
      String known = script.substring(script.indexOf(function)).split("\n}")[0];
      assertThat(OPTION.matcher(help).results().map(option -> "'" + option.group(1) + "'"))
          .as(verb)
          .isNotEmpty()
          .allMatch(known::contains);
    }
  }
}
