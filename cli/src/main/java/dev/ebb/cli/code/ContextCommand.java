package dev.ebb.cli.code;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Cause;
import dev.ebb.client.CellEvent;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.Context;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.Contexts;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb context}: interpreters of a box that keep their state. */
public final class ContextCommand {
  private static final String SOURCE = "-f";

  private final Caller caller;
  private final ParseResult parsed;
  private final List<String> words;

  public ContextCommand(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
    words = Options.words(parsed);
  }

  public static CommandSpec spec() {
    return Options.command(
            "context", "Keep an interpreter in a box, and run code in it; it keeps its state.")
        .addOption(Options.text("--name", "NAME", "name of a new context"))
        .addOption(Options.list(new String[] {"-e", "--env"}, "NAME=VALUE", "environment variable"))
        .addOption(workdir())
        .addOption(source())
        .addOption(
            Options.duration("--timeout", "interrupt the code after this time (default: 60s)"))
        .addOption(
            Options.text("--to", "DIR", "write pictures that the code shows to this directory"))
        .addOption(Options.json())
        .addPositional(
            Options.positional(
                "WORD",
                "1..*",
                "create BOX LANGUAGE | ls BOX | run BOX CONTEXT CODE | interrupt BOX CONTEXT |"
                    + " restart BOX CONTEXT | rm BOX CONTEXT; CODE is - for stdin, absent with"
                    + " -f"));
  }

  private static OptionSpec workdir() {
    return OptionSpec.builder("-w", "--workdir")
        .paramLabel("DIR")
        .type(String.class)
        .description("working directory of a new context (default: /workspace)")
        .build();
  }

  private static OptionSpec source() {
    return OptionSpec.builder(SOURCE)
        .paramLabel("FILE")
        .type(String.class)
        .description("read the code from a file of the host")
        .build();
  }

  private void requireCount(String verb) {
    int least = verb.equals("ls") ? 2 : 3;
    int most = verb.equals("run") ? 4 : least;
    if (words.size() < least || words.size() > most) {
      throw Options.bad(
          parsed, "\"" + verb + "\" does not take " + (words.size() - 1) + " arguments");
    }
  }

  public int run() throws IOException {
    String verb = words.getFirst();
    requireCount(verb);
    try (EbbClient client = DaemonConnection.open(caller)) {
      Contexts contexts = client.contexts(Options.box(parsed, words.get(1)));
      return switch (verb) {
        case "create" -> print(contexts.create(request()));
        case "ls" -> list(contexts);
        case "run" -> runCell(contexts, context());
        case "interrupt" -> print(contexts.interrupt(context()));
        case "restart" -> print(contexts.restart(context()));
        case "rm" -> print(contexts.remove(context()));
        default -> throw Options.bad(parsed, "unknown verb \"" + verb + "\"");
      };
    }
  }

  private String context() {
    return Options.box(parsed, words.get(2));
  }

  private int print(Context context) {
    caller
        .out()
        .println(
            parsed.hasMatchedOption("--json") ? context.document() : Table.clean(context.id()));
    return 0;
  }

  private ContextRequest request() {
    ContextRequest request =
        ContextRequest.of(words.get(2)).withEnvironment(ExecOptions.environment(parsed));
    Optional<String> name = Options.find(parsed, "--name");
    request = name.isPresent() ? request.withName(name.get()) : request;
    Optional<String> workdir = Options.find(parsed, "--workdir");
    return workdir.isPresent() ? request.withWorkdir(workdir.get()) : request;
  }

  private int list(Contexts contexts) throws IOException {
    List<Context> all = contexts.list();
    if (parsed.hasMatchedOption("--json")) {
      var documents = all.stream().map(Context::document).toList();
      caller.out().println(JsonObject.empty().with("contexts", documents));
      return 0;
    }
    var table = new Table("CONTEXT", "NAME", "LANGUAGE", "STATE", "EXEC", "END");
    for (Context each : all) {
      String end = each.broken() == null ? Shown.orNothing(each.status()) : "broken";
      table.row(
          each.id(), Shown.orNothing(each.name()), each.language(), each.state(), each.exec(), end);
    }
    table.print(caller.out());
    return 0;
  }

  // --- code ---

  private int runCell(Contexts contexts, String context) throws IOException {
    CellRequest cell = CellRequest.of(code()).withEnvironment(ExecOptions.environment(parsed));
    Optional<Duration> timeout = Options.find(parsed, "--timeout");
    cell = timeout.isPresent() ? cell.withTimeout(timeout.get()) : cell;
    if (parsed.hasMatchedOption("--json")) {
      CellResult result = contexts.run(context, cell);
      caller.out().println(result.document());
      return code(result);
    }
    return follow(contexts, context, cell);
  }

  private String code() throws IOException {
    Optional<String> file = Options.find(parsed, SOURCE);
    if (file.isPresent() == (words.size() == 4)) {
      throw Options.bad(parsed, "write the code, or - for stdin, or -f FILE");
    }
    if (file.isPresent()) {
      return Files.readString(caller.path(file.get()));
    }
    return words.get(3).equals("-")
        ? new String(caller.in().readAllBytes(), StandardCharsets.UTF_8)
        : words.get(3);
  }

  private static void writeText(OutputStream out, @Nullable Output text) throws IOException {
    if (text != null) {
      out.write((text.text() + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }

  /** When this process ends, the connection closes, and the daemon interrupts the cell. */
  private int follow(Contexts contexts, String context, CellRequest cell) throws IOException {
    OutputStream out = caller.rawOut();
    OutputStream err = caller.rawErr();
    int pictures = 0;
    try (var following = contexts.runAndFollow(context, cell)) {
      while (true) {
        switch (following.next().orElseThrow()) {
          case CellEvent.Ordered _ -> {}
          case CellEvent.Wrote(var stream, var output) ->
              (stream == OutputStreamName.STDOUT ? out : err).write(output.bytes());
          case CellEvent.Showed(_, var forms) -> {
            pictures += savePicture(forms, pictures + 1);
            writeText(out, forms.get("text/plain"));
          }
          case CellEvent.Ended(var result) -> {
            explain(result);
            return code(result);
          }
        }
      }
    }
  }

  private int savePicture(Map<String, Output> forms, int number) throws IOException {
    Optional<String> directory = Options.find(parsed, "--to");
    for (String type : List.of("png", "jpeg", "svg+xml")) {
      Output picture = forms.get("image/" + type);
      if (picture != null && directory.isPresent()) {
        String name = "%d.%s".formatted(number, type.replace("+xml", ""));
        Files.write(caller.path(directory.get()).resolve(name), picture.bytes());
        return 1;
      }
    }
    return 0;
  }

  private void explain(CellResult result) {
    if (result.error() != null) {
      caller.err().print(result.error().traceback());
    }
    Cause cause = result.cause();
    if (cause != null) {
      caller.err().println("ebb: the context has ended: " + cause.kind());
    }
    if (result.lost() != null) {
      caller.err().println("ebb: " + ExecEnd.words(result.lost()));
    } else if (!List.of("ok", "error", "failed", "died").contains(result.outcome())) {
      caller.err().println("ebb: " + result.outcome());
    }
  }

  private static int code(CellResult result) {
    return switch (result.outcome()) {
      case "ok" -> 0;
      case "error" -> 1;
      case "failed" -> result.exitCode() == null ? 1 : result.exitCode();
      case "interrupted" -> ExitCode.INTERRUPTED;
      case "timed-out" -> ExitCode.TIMED_OUT;
      default -> code(result.cause());
    };
  }

  private static int code(@Nullable Cause cause) {
    Integer code = cause == null ? null : cause.code();
    Integer signal = cause == null ? null : cause.signal();
    if (code != null) {
      return code;
    }
    return signal == null ? ExitCode.OWN_FAILURE : ExitCode.SIGNALLED + signal;
  }
}
