package dev.ebb.cli;

import static dev.ebb.cli.Options.flag;
import static dev.ebb.cli.Options.list;
import static dev.ebb.cli.Options.value;

import dev.ebb.backend.CopiedFile;
import dev.ebb.backend.Mount;
import dev.ebb.backend.Network;
import dev.ebb.backend.SandboxSpec;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.Limits;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.exec.ExecSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/** The options of {@code ebb run}, and what they mean to the engine. */
final class RunOptions {
  private final ParseResult parsed;

  RunOptions(ParseResult parsed) {
    this.parsed = parsed;
  }

  static CommandSpec spec() {
    Limits limits = Limits.defaults();
    CommandSpec spec =
        Options.command("run", "Run a command in a box of its own, and prove that nothing is left.")
            .addOption(
                value(
                    "--timeout",
                    "DURATION",
                    Duration.class,
                    Options::duration,
                    "wall time, 0 for none (default: 5m)"))
            .addOption(
                value(
                    "--grace",
                    "DURATION",
                    Duration.class,
                    Options::duration,
                    "between SIGTERM and SIGKILL, 0 for at once (default: 5s)"))
            .addOption(size("--memory", "memory, workspace and /tmp included", limits.memory()))
            .addOption(
                value(
                    "--pids",
                    "N",
                    Integer.class,
                    Options::count,
                    "processes and threads (default: " + limits.pids() + ")"))
            .addOption(
                value("--cpus", "N", Double.class, Options::cpus, "processors (default: all)"))
            .addOption(size("--disk", "size of /workspace", limits.disk()))
            .addOption(size("--tmp", "size of /tmp, and of /dev/shm", limits.temporary()))
            .addOption(size("--output-limit", "stdout and stderr", ExecSpec.DEFAULT_OUTPUT_LIMIT))
            .addOption(
                value(
                    "--nofile",
                    "N",
                    Integer.class,
                    Options::count,
                    "open files of a process (default: " + ExecSpec.DEFAULT_OPEN_FILES + ")"))
            .addOption(size("--fsize", "size of one file", ExecSpec.DEFAULT_FILE_SIZE))
            .addOption(
                value(
                    "--net",
                    "none|host",
                    Network.class,
                    RunOptions::network,
                    "network (default: none)"))
            .addOption(
                list(
                    new String[] {"--mount"},
                    "HOST:BOX[:ro]",
                    "show a directory or file of the host in the box"))
            .addOption(
                list(
                    new String[] {"--packages"},
                    "DIR",
                    "read-only packages (pip install --target, npm --prefix)"))
            .addOption(
                list(
                    new String[] {"--file"},
                    "HOST:BOX",
                    "copy a file into the box; BOX is below /workspace unless absolute"))
            .addOption(list(new String[] {"-e", "--env"}, "NAME=VALUE", "environment variable"))
            .addOption(
                value(
                    "--workdir",
                    "DIR",
                    String.class,
                    text -> text,
                    "working directory (default: " + SandboxSpec.WORKSPACE + ")"))
            .addOption(flag("let daemonised children live until the box ends", "--keep"))
            .addOption(flag("print one result object instead of the output", "--json"))
            .addOption(flag("no words of Ebb's own", "-q", "--quiet"))
            .addOption(flag("print the certificate and what it cost", "-v", "--verbose"))
            .addPositional(
                PositionalParamSpec.builder()
                    .paramLabel("COMMAND")
                    .type(List.class)
                    .auxiliaryTypes(String.class)
                    .arity("0..*")
                    .description("the command and its arguments, best after --")
                    .build());
    spec.parser().stopAtPositional(true);
    spec.usageMessage()
        .customSynopsis("ebb run [OPTIONS] -- COMMAND [ARGS...]")
        .footer(
            "",
            "Exit code: the command's; 124 timeout, 125 Ebb's own failure, 126 not executable,",
            "127 not found, 128+n killed by signal n (also memory and output limit: 137).");
    return spec;
  }

  private static picocli.CommandLine.Model.OptionSpec size(
      String name, String description, ByteSize otherwise) {
    return value(
        name, "SIZE", ByteSize.class, Options::size, description + " (default: " + otherwise + ")");
  }

  private static Network network(String text) {
    return switch (text) {
      case "none" -> Network.NONE;
      case "host" -> Network.HOST;
      default ->
          throw new picocli.CommandLine.TypeConversionException(
              "bad network \"" + text + "\": choose none or host");
    };
  }

  boolean json() {
    return parsed.hasMatchedOption("--json");
  }

  boolean quiet() {
    return parsed.hasMatchedOption("--quiet");
  }

  boolean verbose() {
    return parsed.hasMatchedOption("--verbose");
  }

  BoxSpec box() {
    Limits otherwise = Limits.defaults();
    BoxSpec spec =
        BoxSpec.defaults()
            .withLimits(
                new Limits(
                    Options.get(parsed, "--memory", otherwise.memory()),
                    Options.get(parsed, "--pids", otherwise.pids()),
                    Options.get(parsed, "--cpus", otherwise.cpus()),
                    Options.get(parsed, "--disk", otherwise.disk()),
                    Options.get(parsed, "--tmp", otherwise.temporary())))
            .withNetwork(Options.get(parsed, "--net", Network.NONE));
    for (String text : many("--mount")) {
      spec = spec.withMount(mount(text));
    }
    for (String text : many("--packages")) {
      spec = spec.withPackages(Path.of(text).toAbsolutePath());
    }
    for (String text : many("--file")) {
      spec = spec.withFile(file(text));
    }
    return spec;
  }

  ExecSpec exec() {
    List<String> command = parsed.matchedPositionalValue(0, List.of());
    if (command.isEmpty()) {
      throw bad("no command given");
    }
    ExecSpec spec = ExecSpec.of(command);
    spec =
        new ExecSpec(
            spec.command(),
            environment(),
            Options.get(parsed, "--workdir", spec.workdir()),
            Options.get(parsed, "--timeout", spec.timeout()),
            Options.get(parsed, "--grace", spec.grace()),
            Options.get(parsed, "--output-limit", spec.outputLimit()),
            Options.get(parsed, "--nofile", spec.openFiles()),
            Options.get(parsed, "--fsize", spec.fileSize()),
            true,
            parsed.hasMatchedOption("--keep"));
    return spec;
  }

  private String[] many(String option) {
    return parsed.matchedOptionValue(option, new String[0]);
  }

  private Mount mount(String text) {
    String rest = text.endsWith(":ro") ? text.substring(0, text.length() - 3) : text;
    int colon = rest.lastIndexOf(':');
    if (colon <= 0 || colon == rest.length() - 1) {
      throw bad("bad mount \"" + text + "\": write HOST:BOX or HOST:BOX:ro");
    }
    return new Mount(
        Path.of(rest.substring(0, colon)).toAbsolutePath(),
        rest.substring(colon + 1),
        !rest.equals(text));
  }

  private CopiedFile file(String text) {
    int colon = text.lastIndexOf(':');
    if (colon == 0 || colon == text.length() - 1) {
      throw bad("bad file \"" + text + "\": write HOST:BOX, or HOST alone");
    }
    Path host = Path.of(colon < 0 ? text : text.substring(0, colon)).toAbsolutePath();
    String name = colon < 0 ? String.valueOf(host.getFileName()) : text.substring(colon + 1);
    return new CopiedFile(host, name.startsWith("/") ? name : SandboxSpec.WORKSPACE + "/" + name);
  }

  private Map<String, String> environment() {
    var environment = new LinkedHashMap<String, String>();
    for (String text : many("--env")) {
      int equals = text.indexOf('=');
      if (equals <= 0) {
        throw bad("bad environment variable \"" + text + "\": write NAME=VALUE");
      }
      environment.put(text.substring(0, equals), text.substring(equals + 1));
    }
    return environment;
  }

  private ParameterException bad(String message) {
    return new ParameterException(parsed.commandSpec().commandLine(), message);
  }
}
