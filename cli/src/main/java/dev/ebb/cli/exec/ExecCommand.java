package dev.ebb.cli.exec;

import static dev.ebb.cli.option.Options.flag;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Execs;
import dev.ebb.client.Following;
import dev.ebb.client.Offsets;
import dev.ebb.client.Result;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb exec}: a command in a box that is there. */
public final class ExecCommand {
  private final Caller caller;
  private final ParseResult parsed;
  private final String box;
  private final List<String> command;

  public ExecCommand(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
    List<String> words = Options.words(parsed);
    box = Options.box(parsed, words.getFirst());
    command = command(words);
  }

  public static CommandSpec spec() {
    CommandSpec spec = Options.command("exec", "Run a command in a box.");
    spec.addOption(flag("do not wait; print the number of the command", "-d", "--detach"))
        .addOption(flag("pass our stdin to it", "-i", "--interactive"))
        .addOption(flag("run it on a terminal", "-t", "--tty"))
        .addOption(
            flag(
                "run it outside the limits of the other commands, to examine a box that is full",
                "--operator"));
    ExecOptions.addTo(spec, "(default: none)");
    spec.addOption(flag("print the result as one JSON object instead of the output", "--json"))
        .addOption(flag("print no messages of Ebb itself", "-q", "--quiet"))
        .addPositional(
            Options.positional("BOX COMMAND", "1..*", "the box, the command and its arguments"));
    spec.parser().stopAtPositional(true);
    spec.usageMessage().customSynopsis("ebb exec [OPTIONS] BOX COMMAND [ARGS...]");
    return spec;
  }

  /** The arguments after the box, and after an optional {@code --}. */
  public static List<String> command(List<String> words) {
    int start = words.size() > 1 && words.get(1).equals("--") ? 2 : 1;
    return words.subList(start, words.size());
  }

  public int run() throws IOException {
    ExecRequest request = ExecOptions.request(parsed, command);
    boolean interactive = ExecOptions.isInteractive(parsed);
    try (EbbClient client = DaemonConnection.open(caller)) {
      var execs = client.execs(box);
      if (parsed.hasMatchedOption("--detach")) {
        return detach(execs.start(request));
      }
      if (ExecOptions.hasTerminal(parsed)) {
        var terminal = new TerminalAttachment(caller, client, ExecOptions.grace(parsed));
        return terminal.run(size -> execs.runAndFollow(request.withTerminal(size)), interactive);
      }
      return attach(client, execs, interactive ? request.withStdin() : request, interactive);
    }
  }

  private int attach(EbbClient client, Execs execs, ExecRequest request, boolean input)
      throws IOException {
    var attachment = new Attachment(caller, client, ExecOptions.grace(parsed));
    var source = new Started(execs, request);
    if (parsed.hasMatchedOption("--json")) {
      var stdout = new ByteArrayOutputStream();
      var stderr = new ByteArrayOutputStream();
      Exec ended = attachment.run(source, input, stdout, stderr).orElseThrow().exec();
      caller.out().println(AttachedRun.document(ended, stdout, stderr));
      return attachment.code(ExecEnd.code(ended.exitCode()));
    }
    Optional<Result> ended = attachment.run(source, input, caller.rawOut(), caller.rawErr());
    if (ended.isEmpty()) {
      return ExitCode.READER_GONE;
    }
    if (!parsed.hasMatchedOption("--quiet")) {
      ExecEnd.explain(caller, ended.get().exec());
    }
    return attachment.code(ExecEnd.code(ended.get().exec().exitCode()));
  }

  /** A command that lives on without its follower. */
  private record Started(Execs execs, ExecRequest request) implements Attachment.Source {
    @Override
    public Exec start() throws IOException {
      return execs.start(request);
    }

    @Override
    public Following follow(Exec started) throws IOException {
      return execs.follow(started.number(), Offsets.START);
    }
  }

  private int detach(Exec exec) {
    caller.out().println(parsed.hasMatchedOption("--json") ? exec.document() : exec.number());
    return 0;
  }
}
