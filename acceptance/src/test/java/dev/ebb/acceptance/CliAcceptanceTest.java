package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("kernel")
@LeakChecked
class CliAcceptanceTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @TempDir Path directory;

  private Ebb ebb;

  @BeforeEach
  void lendHome() throws IOException {
    ebb = ebb();
  }

  /** In a home without a daemon. */
  Ebb ebb() throws IOException {
    return new Ebb(host.home());
  }

  @Test
  void theReadmesFirstCommandPrintsFortyTwo() throws Exception {
    var run = ebb.call("run", "--", "python3", "-c", "print(6*7)");

    assertThat(run.text()).isEqualTo("42\n");
    assertThat(run.stderr()).isEmpty();
    assertThat(run.code()).isZero();
  }

  @ParameterizedTest
  @CsvSource({
    "exit 3, 3",
    "exit 130, 130",
    "exit 255, 255",
    "kill -9 $$, 137",
    "kill -TERM $$, 143",
    "nosuchcommand, 127",
    "/etc/hosts, 126",
  })
  void theExitCodeIsTheCommandsAsAShellHasIt(String script, int code) throws Exception {
    assertThat(ebb.call("run", "--", "sh", "-c", script).code()).isEqualTo(code);
  }

  @ParameterizedTest
  @CsvSource({"nosuchcommand, 127, not found", "/etc/hosts, 126, cannot be executed"})
  void aCommandThatCannotStartIsNamed(String command, int code, String reason) throws Exception {
    var run = ebb.call("run", "--", command);

    assertThat(run.code()).isEqualTo(code);
    assertThat(run.stderr()).contains(command).contains(reason);
  }

  @Test
  void aTimeoutIs124AndKeepsTheOutputSoFar() throws Exception {
    var run =
        ebb.call("run", "--timeout", "3s", "--grace", "0", "--", "sh", "-c", "echo a; sleep 60");

    assertThat(run.code()).isEqualTo(124);
    assertThat(run.text()).isEqualTo("a\n");
    assertThat(run.stderr()).contains("timed out after 3000 ms");
  }

  @Test
  void outOfMemoryIs137AndSaysWhichLimit() throws Exception {
    // The command stays, because without cgroups its memory is checked only now and then.
    String eater = "import time; eaten = bytearray(300 << 20); time.sleep(100)";
    var run = ebb.call("run", "--memory", "64m", "--", "python3", "-c", eater);

    assertThat(run.code()).isEqualTo(137);
    assertThat(run.stderr()).contains("out of memory: the limit is 64m (--memory)");
  }

  @Test
  void whatCannotBePrintedIsNoSuccess() throws Exception {
    for (String words : List.of("version", "run --json -- true", "run -- echo hello")) {
      var run = ebb().startedBy("sh", "-c", "exec \"$@\" > /dev/full", "sh").call(words.split(" "));
      assertThat(run.code()).as(words).isNotZero();
      assertThat(run.stderr()).as(words).contains("cannot write the output: No space left");
    }
  }

  @Test
  void anOutputAboveTheLimitIsCutAndNothingIsAddedToIt() throws Exception {
    var run = ebb.call("run", "--output-limit", "1k", "--grace", "0", "--", "yes");

    assertThat(run.code()).isEqualTo(137);
    assertThat(run.text()).isEqualTo("y\n".repeat(512));
    assertThat(run.stderr()).contains("output limit of 1k (--output-limit)");
  }

  @Test
  void aPidsLimitThatWasHitIsReported() throws Exception {
    var run =
        ebb.call(
            "run",
            "--pids",
            "5",
            "--",
            "bash",
            "-c",
            "for i in 1 2 3 4 5 6 7 8; do sleep 9 & done");

    assertThat(run.stderr()).contains("the limit of 5 processes refused a fork");
  }

  @Test
  void streamsAreByteExact() throws Exception {
    byte[] noise = new byte[3_000_000];
    new Random(1).nextBytes(noise);

    var run = ebb.call(noise, "run", "--", "cat");

    assertThat(Arrays.equals(run.stdout(), noise)).isTrue();
  }

  @Test
  void unreadStdinDoesNotHang() throws Exception {
    assertThat(ebb.call(new byte[5_000_000], "run", "--", "true").code()).isZero();
  }

  @Test
  void jsonIsOneObjectWithTheCertificate() throws Exception {
    var run = ebb.call("run", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3");

    assertThat(run.code()).isEqualTo(3);
    assertThat(run.text())
        .startsWith("{\"box\":\"b")
        .contains("\"stdoutBytes\":4,\"stderrBytes\":4")
        .contains("\"status\":\"exited\",\"exitCode\":3,\"cause\":{\"kind\":\"exited\",\"code\":3}")
        .contains("\"stdout\":{\"text\":\"out\\n\"},\"stderr\":{\"text\":\"err\\n\"}")
        .contains("\"peakProcesses\":", "\"peakMemoryBytes\":", "\"cpuMillis\":")
        .contains("\"certificate\":{\"subject\":\"b", "\"stuck\":[],\"clean\":true")
        .endsWith("}\n");
    assertThat(run.text().lines()).hasSize(1);
  }

  @Test
  void jsonKeepsBytesThatAreNoTextAsBase64() throws Exception {
    var run = ebb.call("run", "--json", "--", "printf", "\\377\\000");

    assertThat(run.text()).contains("\"stdout\":{\"base64\":\"/wA=\"}");
  }

  @Test
  void verbosePrintsTheCertificate() throws Exception {
    var run = ebb.call("run", "-v", "--", "true");

    assertThat(run.stderr()).contains("exited with code 0, wall").contains("nothing left");
  }

  @Test
  void quietSaysNothingOfItsOwn() throws Exception {
    var run = ebb.call("run", "-q", "--timeout", "200ms", "--grace", "0", "--", "sleep", "60");

    assertThat(run.code()).isEqualTo(124);
    assertThat(run.stderr()).isEmpty();
  }

  @Test
  void theHostsEnvironmentStaysOutside() throws Exception {
    var run = ebb.call("run", "--env", "GREETING=hi there", "--", "env");

    assertThat(run.text()).contains("GREETING=hi there\n").doesNotContain("s3cret", "EBB_");
  }

  @Test
  void filesMountsAndPackagesAppearInTheBox() throws Exception {
    Path data = Files.createDirectory(directory.resolve("data"));
    Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx------"));
    Files.writeString(data.resolve("in"), "from the host\n");
    Path packages = Files.createDirectory(directory.resolve("packages"));
    Files.writeString(packages.resolve("tide.py"), "word = 'ebb'\n");
    Path script =
        Files.writeString(directory.resolve("main.py"), "import tide; print(tide.word)\n");

    var run =
        ebb.call(
            "run",
            "--mount",
            data + ":/data",
            "--packages",
            packages.toString(),
            "--file",
            script.toString(),
            "--",
            "sh",
            "-c",
            "cat /data/in; echo from the box > /data/out; python3 main.py");

    assertThat(run.text()).isEqualTo("from the host\nebb\n");
    assertThat(data.resolve("out")).hasContent("from the box\n");
    assertThat(Files.getOwner(data.resolve("out"))).isEqualTo(Files.getOwner(data));
  }

  @Test
  void aReadOnlyMountStaysAsItIs() throws Exception {
    var run = ebb.call("run", "--mount", directory + ":/data:ro", "--", "touch", "/data/x");

    assertThat(run.code()).isNotZero();
    assertThat(directory).isEmptyDirectory();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "run --bogus -- true | Unknown option: '--bogus'",
        "run --memory 5x -- true | bad size \"5x\"",
        "run --timeout soon -- true | bad duration \"soon\"",
        "run --pids 0 -- true | bad number \"0\"",
        "run --net wifi -- true | bad network \"wifi\"",
        "run --env X -- true | bad environment variable \"X\"",
        "run --mount /nowhere:/x -- true | cannot mount /nowhere: no such file or directory",
        "run --mount /usr -- true | bad mount \"/usr\"",
        "run --mount /usr:/proc -- true | that place is the box's own",
        "run --file /nowhere:x -- true | cannot copy /nowhere",
        "run --packages /nowhere -- true | cannot use packages of /nowhere",
        "run --workdir /nowhere -- true | cannot change to the working directory /nowhere",
        "run | no command given",
        "swim | Unmatched argument",
        "help swim | unknown command 'swim'",
      })
  void badUsageIs125AndSaysWhat(String arguments, String message) throws Exception {
    var run = ebb.call(arguments.split(" "));

    assertThat(run.stderr()).contains(message);
    assertThat(run.text()).isEmpty();
    assertThat(run.code()).isEqualTo(125);
  }

  @Test
  void ctrlCRunsTheLadderAndEndsWith130() throws Exception {
    // A job in the background of a script inherits an ignored SIGINT, and keeps it.
    var interruptible = ebb().startedBy("env", "--default-signal=INT");
    Process process =
        interruptible.start(
            "run", "--", "bash", "-c", "trap 'echo bye; exit' TERM; echo up; sleep 60 & wait");
    var reader = process.inputReader(UTF_8);
    assertThat(reader.readLine()).isEqualTo("up");

    Runtime.getRuntime()
        .exec(new String[] {"kill", "-INT", Long.toString(process.pid())})
        .waitFor();

    assertThat(reader.readLine()).isEqualTo("bye");
    assertThat(process.waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(130);
  }

  @Test
  void aReaderThatGoesAwayEndsTheCommand() throws Exception {
    Process process = ebb.start("run", "--grace", "0", "--", "yes");
    process.inputReader(UTF_8).close();

    assertThat(process.waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(141);
  }

  @Test
  void theNextCallCleansUpAfterAKilledOne() throws Exception {
    Process process =
        ebb.start("run", "--", "sh", "-c", "setsid sleep 271828 & echo up; sleep 271828");
    assertThat(process.inputReader(UTF_8).readLine()).isEqualTo("up");
    process.destroyForcibly().waitFor();
    await()
        .atMost(TestHost.patience(Duration.ofSeconds(10)))
        .untilAsserted(
            () -> {
              TestHost.reapOrphans();
              assertThat(ProcessHandle.allProcesses().flatMap(p -> p.info().commandLine().stream()))
                  .noneMatch(line -> line.endsWith("sleep 271828"));
            });

    var plan = ebb.call("sweep", "--dry-run");
    var sweep = ebb.call("sweep");

    assertThat(plan.text())
        .contains("would release")
        .contains(Feature.CGROUPS.isPresent() ? "cgroup" : "directory");
    assertThat(sweep.text()).contains("released").doesNotContain("stuck");
    assertThat(plan.stderr() + sweep.stderr()).isEmpty();
    assertThat(sweep.code()).isZero();
    assertThat(ebb.call("sweep").text()).isEqualTo("nothing left by dead runtimes\n");
  }

  @Test
  void doctorRunsABox() throws Exception {
    var doctor = ebb.call("doctor");

    assertThat(doctor.text()).contains("a box ran in").contains("mode ");
    assertThat(doctor.text())
        .containsPattern("zygote .*; can: .*, zygote\n")
        .containsPattern("forkserver .*; can: leaves, freeze, .*\n")
        .containsPattern("ok +bubblewrap .*a box ran in .*; can: leaves, .*, mounts, copied-files");
    assertThat(doctor.code()).isZero();
    assertThat(ebb.call("doctor", "--json").text()).startsWith("[{\"name\":\"java\"");
  }

  /** The setting is the whole machine's, so it is another only in a mount namespace of its own. */
  @Test
  void doctorReportsCoresThatGoToASocket(@TempDir Path directory) throws Exception {
    TestHost.require(Feature.ROOT);
    assertThat(ebb.call("doctor", "--json").text()).contains("\"name\":\"cores\"");
    Path pattern = Files.writeString(directory.resolve("pattern"), "@/run/coredump.sock\n");
    String cover = "mount --bind \"$0\" /proc/sys/kernel/core_pattern && exec \"$@\"";
    var prefix = List.of("unshare", "--mount", "sh", "-c", cover, pattern.toString());

    var doctor = new Ebb(host.home(), prefix, Map.of()).call("doctor");

    assertThat(doctor.text())
        .containsPattern("degraded +cores +core_pattern is @/run/coredump.sock: a command that");
  }

  @Test
  void helpAndVersionAreThere() throws Exception {
    assertThat(ebb.call("version").text()).startsWith("ebb ");
    assertThat(ebb.call("help").text()).contains("run", "doctor", "sweep", "version");
    assertThat(ebb.call("help", "run").text()).contains("--timeout", "--mount", "Exit code");
    assertThat(ebb.call("run", "--help").code()).isZero();
    assertThat(ebb.call().code()).isEqualTo(125);
  }
}
