package dev.ebb.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.caller.GivenCaller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.exec.ExecCommand;
import dev.ebb.cli.exec.KillCommand;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.ExecNumbers;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

class DaemonCommandsTest {
  private static ParseResult parse(String command, String... arguments) {
    var words = new ArrayList<>(List.of(command));
    words.addAll(List.of(arguments));
    String[] all = words.toArray(String[]::new);
    return Main.commandLine(all).parseArgs(all).subcommand();
  }

  @Test
  void everyCommandHasAUsage() {
    for (String name : Commands.NAMES) {
      assertThat(new CommandLine(Commands.spec(name)).getUsageMessage()).as(name).contains(name);
    }
  }

  @Test
  void shortOptionsMayStandTogether() {
    assertThat(parse("ls", "-aq").matchedOptions()).hasSize(2);
    assertThat(Options.many(parse("ls", "-aql", "a=b"), "--label")).containsExactly("a=b");
    ParseResult exec = parse("exec", "-dti", "box", "ls", "-la");
    assertThat(ExecOptions.hasTerminal(exec) && ExecOptions.isInteractive(exec)).isTrue();
    assertThat(Options.words(exec)).containsExactly("box", "ls", "-la");
    assertThatThrownBy(() -> parse("ls", "-ax")).hasMessageContaining("-x");
  }

  private static Caller caller(String... variable) {
    return new GivenCaller(variable.length == 0 ? Map.of() : Map.of(variable[0], variable[1]));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "version",
        "ls -q",
        "exec -i b sh",
        "exec b cp -f --file x",
        "run true",
        "run --memory 1g --timeout 3s -- sh -c x",
        "run -d --mount /x:/y true",
        "rm -f b",
        "logs -f b",
        "code python 1",
        "help run",
        "ls --bogus",
        "swim"
      })
  void theDaemonRunsWhatNeedsNoProcess(String line) {
    assertThat(Main.isForDaemon(line.split(" "))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "serve",
        "help serve",
        "doctor",
        "purge -y",
        "torture",
        "soak",
        "sweep",
        "why b",
        "mcp",
        "cp b:/x y",
        "code python -f x",
        "context run -f x b c1",
        "create --file x",
        "code --out x python 1",
        "run --mount /x:/y true",
        "run --tmp 1m true",
        "exec -it b sh",
        "run -t sh",
        "run -v true"
      })
  void whatNeedsAProcessHasOne(String line) {
    assertThat(Main.isForDaemon(line.split(" "))).isFalse();
  }

  @Test
  void whatIsNotSaidOfABoxIsLeftToTheDaemon() throws Exception {
    assertThat(BoxOptions.request(caller(), parse("create"))).isEqualTo(BoxRequest.defaults());
  }

  @Test
  void theOptionsOfABoxBecomeARequest() throws Exception {
    BoxRequest request =
        BoxOptions.request(
            caller(),
            parse(
                "create",
                "--name",
                "mine",
                "-l",
                "a=b",
                "--label",
                "c=d=e",
                "--ttl",
                "1h",
                "--memory",
                "64m",
                "--pids",
                "9",
                "--net",
                "host",
                "--mount",
                "/usr:/x:ro"));

    assertThat(request)
        .isEqualTo(
            BoxRequest.defaults()
                .withName("mine")
                .withLabel("a", "b")
                .withLabel("c", "d=e")
                .withTtl(Duration.ofHours(1))
                .withLimits(new Limits(64L << 20, 9, null, null))
                .withNetwork("host")
                .withMount(new dev.ebb.client.Mount("/usr", "/x", true)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"--label=x", "--ttl=soon", "--net=all", "--memory=much"})
  void aBadOptionIsNamed(String option) {
    assertThatThrownBy(() -> BoxOptions.request(caller(), parse("create", option)))
        .isInstanceOf(ParameterException.class);
  }

  @Test
  void theOptionsOfACommandEndAtTheBox() {
    ParseResult parsed =
        parse("exec", "-it", "-e", "A=b", "-w", "/tmp", "--timeout", "2s", "box", "ls", "-d", "-l");

    assertThat(ExecCommand.command(Options.words(parsed))).containsExactly("ls", "-d", "-l");
    assertThat(parsed.hasMatchedOption("--detach")).isFalse();
    assertThat(ExecOptions.hasTerminal(parsed)).isTrue();
    assertThat(ExecOptions.isInteractive(parsed)).isTrue();
    assertThat(ExecOptions.request(parsed, List.of("ls")))
        .isEqualTo(
            ExecRequest.of("ls")
                .withEnvironment("A", "b")
                .withWorkdir("/tmp")
                .withTimeout(Duration.ofSeconds(2)));
  }

  @Test
  void dashesMayStandBetweenBoxAndCommand() {
    assertThat(ExecCommand.command(List.of("box", "--", "ls", "--"))).containsExactly("ls", "--");
    assertThat(ExecCommand.command(List.of("box"))).isEmpty();
  }

  @Test
  void aCommandMustBeGiven() {
    ParseResult parsed = parse("exec", "box");

    assertThatThrownBy(() -> ExecOptions.request(parsed, List.of())).hasMessage("no command given");
  }

  @ParameterizedTest
  @CsvSource({"TERM, TERM", "sigint, INT", "9, 9", "SIGHUP, HUP"})
  void signalsAreNamedAsKillHasThem(String text, String signal) {
    assertThat(KillCommand.signal(text)).isEqualTo(signal);
  }

  @Test
  void execsAreNumbers() {
    assertThat(ExecNumbers.parse(parse("wait", "box", "3", "12"))).containsExactly(3L, 12L);
    assertThatThrownBy(() -> ExecNumbers.parse(parse("wait", "box", "x")))
        .hasMessage("bad exec \"x\": write its number");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", ".", ".."})
  void aBoxHasAName(String box) {
    ParseResult parsed = parse("ps", box);

    assertThatThrownBy(() -> Options.box(parsed, box)).hasMessageContaining("bad box");
  }

  @Test
  void theSocketIsWhereTheEnvironmentSays() {
    assertThat(DaemonConnection.socket(caller("EBB_SOCKET", "/run/x.sock")))
        .isEqualTo(Path.of("/run/x.sock"));
    assertThat(DaemonConnection.socket(caller())).hasFileName("ebb.sock");
    assertThat(DaemonConnection.noDaemon(caller("EBB_SOCKET", "/nowhere/x.sock")))
        .isEqualTo("no daemon answers at /nowhere/x.sock; start one with ebb create or ebb serve");
    assertThat(DaemonConnection.noDaemon(caller("EBB_URL", "http://h:1")))
        .isEqualTo("no daemon answers at http://h:1 (EBB_URL)");
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "3, 3", "137, 137", ", 125"})
  void anEndWithoutACodeIsOurFailure(Integer exitCode, int code) {
    assertThat(ExecEnd.code(exitCode)).isEqualTo(code);
  }
}
