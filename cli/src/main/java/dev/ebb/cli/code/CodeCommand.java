package dev.ebb.cli.code;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.ExecEnd;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.Shown;
import dev.ebb.cli.output.Table;
import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecEvent;
import dev.ebb.client.Following;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb code} and {@code ebb languages}: code in a box of the daemon. */
public final class CodeCommand {
  private static final String SOURCE = "-f";

  private final Caller caller;
  private final ParseResult parsed;

  public CodeCommand(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
  }

  public static CommandSpec spec() {
    CommandSpec spec =
        Options.command("code", "Run code in a new box, e.g. ebb code python 'print(1)'.");
    BoxOptions.addTo(spec);
    addInput(spec);
    addOutput(spec);
    return spec.addOption(Options.json())
        .addPositional(
            Options.positional(
                "WORD",
                "1..*",
                "LANGUAGE CODE [--] [ARGUMENT…]; CODE is - for stdin, absent with -f"));
  }

  private static void addInput(CommandSpec spec) {
    spec.addOption(
            OptionSpec.builder(SOURCE)
                .paramLabel("FILE")
                .type(String.class)
                .description("read the code from a file of the host")
                .build())
        .addOption(
            Options.flag(
                "read our stdin to its end, and pass it to the code", "-i", "--interactive"))
        .addOption(
            Options.duration(
                "--timeout", "time limit of the run (default: 60s, or that of the server)"));
  }

  private static void addOutput(CommandSpec spec) {
    spec.addOption(
            Options.list(
                new String[] {"--out"},
                "GLOB",
                "copy files that match, below /workspace, out of the box"))
        .addOption(
            Options.text(
                "--to", "DIR", "directory to which --out copies (default: the current one)"))
        .addOption(Options.flag("print no message about how it ended", "-q", "--quiet"));
  }

  public static CommandSpec languagesSpec() {
    return Options.command("languages", "List the supported languages.").addOption(Options.json());
  }

  public static int languages(Caller caller, ParseResult parsed) throws IOException {
    try (EbbClient client = DaemonConnection.openOrStart(caller)) {
      JsonObject answer = client.languages();
      if (parsed.hasMatchedOption("--json")) {
        caller.out().println(answer);
        return 0;
      }
      table(answer.objects("languages")).print(caller.out());
      return 0;
    }
  }

  private static Table table(List<JsonObject> languages) throws JsonException {
    var table = new Table("LANGUAGE", "VERSION", "ALIASES", "NEEDS");
    for (JsonObject each : languages) {
      boolean isThere = each.isTrue("available");
      table.row(
          each.string("name"),
          isThere && each.has("version") ? each.string("version") : Shown.NOTHING,
          String.join(" ", each.strings("aliases")),
          isThere ? "" : String.join(" ", each.strings("missing")) + " (not installed)");
    }
    return table;
  }

  // --- code ---

  public int run() throws IOException {
    Code code = code();
    try (EbbClient client = DaemonConnection.openOrStart(caller)) {
      CodeResult result =
          parsed.hasMatchedOption("--json") ? client.run(code) : follow(client, code);
      if (parsed.hasMatchedOption("--json")) {
        caller.out().println(result.document());
      }
      copyOut(result);
      explain(result);
      Integer exit = result.exitCode();
      return exit == null ? ExitCode.OWN_FAILURE : exit;
    }
  }

  private Code code() throws IOException {
    List<String> words = Options.words(parsed);
    Optional<String> file = Options.find(parsed, SOURCE);
    int first = file.isPresent() ? 1 : 2;
    if (words.size() < first) {
      throw Options.bad(parsed, "no code given: write it, or - for stdin, or -f FILE");
    }
    boolean fromStdin = file.isEmpty() && words.get(1).equals("-");
    boolean input = parsed.hasMatchedOption("--interactive");
    if (fromStdin && input) {
      throw Options.bad(parsed, "stdin cannot be both the code and its input");
    }
    byte[] text =
        file.isPresent()
            ? Files.readAllBytes(caller.path(file.get()))
            : fromStdin
                ? caller.in().readAllBytes()
                : words.get(1).getBytes(StandardCharsets.UTF_8);
    Code code =
        Code.of(words.getFirst(), decoded(text))
            .withArguments(words.subList(first, words.size()))
            .withBox(BoxOptions.request(caller, parsed));
    return withOptions(input ? code.withStdin(Output.of(caller.in().readAllBytes())) : code);
  }

  private Code withOptions(Code code) {
    List<String> globs = Options.many(parsed, "--out");
    Code collecting = globs.isEmpty() ? code : code.withOutputs(globs);
    Optional<Duration> timeout = Options.find(parsed, "--timeout");
    return timeout.isPresent() ? collecting.withTimeout(timeout.get()) : collecting;
  }

  private String decoded(byte[] code) {
    try {
      var decoder = StandardCharsets.UTF_8.newDecoder();
      return decoder.decode(ByteBuffer.wrap(code)).toString();
    } catch (CharacterCodingException e) {
      throw Options.bad(parsed, "the code is not UTF-8");
    }
  }

  /** Copies what it writes to our own streams as it comes. */
  private CodeResult follow(EbbClient client, Code code) throws IOException {
    OutputStream out = caller.rawOut();
    OutputStream err = caller.rawErr();
    try (Following following = client.runAndFollow(code)) {
      while (true) {
        switch (following.next().orElseThrow()) {
          case ExecEvent.Started _ -> {}
          case ExecEvent.Wrote(var stream, var output, _) ->
              (stream == OutputStreamName.STDOUT ? out : err).write(output.bytes());
          case ExecEvent.Lost _ -> {} // its end reports that
          case ExecEvent.Ended(var result) -> {
            CodeResult ended = CodeResult.of(result);
            if (ended.phase().equals("compile")) {
              err.write(ended.stdout().bytes());
              err.write(ended.stderr().bytes());
            }
            return ended;
          }
        }
      }
    }
  }

  private void explain(CodeResult result) {
    if (parsed.hasMatchedOption("--quiet")) {
      return;
    }
    switch (result.outcome()) {
      case "ok", "failed", "killed" -> {}
      case "compile-error" -> caller.err().println("ebb: the code does not compile");
      case "timed-out" -> caller.err().println("ebb: timed out (--timeout)");
      case "out-of-memory" -> caller.err().println("ebb: out of memory (--memory)");
      case "output-lost" ->
          caller.err().println("ebb: " + ExecEnd.words(result.result().exec().lost()));
      default -> caller.err().println("ebb: " + result.outcome());
    }
  }

  // --- files ---

  private void copyOut(CodeResult result) throws IOException {
    if (Options.many(parsed, "--out").isEmpty()) {
      return;
    }
    Path directory = caller.path(Options.<String>find(parsed, "--to").orElse(".")).toRealPath();
    for (CodeResult.File file : result.files()) {
      Output content = file.content();
      if (content != null) {
        copy(directory, file.path(), content.bytes());
      } else if (file.missing() != null) {
        caller.err().println("ebb: " + file.path() + " was not copied: " + file.missing());
      }
    }
  }

  /** The path is the code's choice, so it gets no further than this directory. */
  private static void copy(Path directory, String name, byte[] content) throws IOException {
    Path target = directory.resolve(name).normalize();
    Path parent = target.getParent();
    if (!target.startsWith(directory) || target.equals(directory) || parent == null) {
      throw new IOException("refusing to copy a path outside of the directory: " + name);
    }
    Files.createDirectories(parent);
    if (!parent.toRealPath().startsWith(directory)) {
      throw new IOException("refusing to copy " + name + ": its directory is a symbolic link");
    }
    Files.write(
        target,
        content,
        StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.WRITE,
        LinkOption.NOFOLLOW_LINKS);
  }
}
