package dev.ebb.cli.exec;

import static dev.ebb.cli.option.Options.flag;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.BoxOptions;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import dev.ebb.model.Network;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** The options of {@code ebb run}, and what they mean to the engine. */
final class RunOptions {
  private final Caller caller;
  private final ParseResult parsed;

  RunOptions(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
  }

  static CommandSpec spec() {
    CommandSpec spec =
        Options.command("run", "Run a command in a new box, and prove that nothing is left of it.");
    ExecOptions.addTo(spec, "(default: 5m)");
    BoxOptions.addTo(spec);
    spec.addOption(
            Options.size("--tmp", "size of /tmp and of /dev/shm", Limits.defaults().temporary()))
        .addOption(flag("run it in the daemon and print the id of the box", "-d", "--detach"))
        .addOption(
            flag("with -d: remove the box when the command ends (always done without -d)", "--rm"))
        .addOption(flag("run it in the daemon, on a terminal", "-t", "--tty"))
        .addOption(flag("with -t: pass our keyboard input to it", "-i", "--interactive"))
        .addOption(flag("print the result as one JSON object instead of the output", "--json"))
        .addOption(flag("print no messages of Ebb itself", "-q", "--quiet"))
        .addOption(flag("print the certificate and the resources used", "-v", "--verbose"))
        .addPositional(
            Options.positional(
                "COMMAND", "0..*", "the command and its arguments, preferably after --"));
    spec.parser().stopAtPositional(true);
    spec.usageMessage()
        .customSynopsis("ebb run [OPTIONS] -- COMMAND [ARGS...]")
        .footer(
            "",
            "Exit code: the command's; 124 timeout, 125 Ebb's own failure, 126 not executable,",
            "127 not found, 128+n killed by signal n (also memory and output limit: 137).");
    return spec;
  }

  boolean json() {
    return parsed.hasMatchedOption("--json");
  }

  /** True to run it in the daemon without waiting for its end. */
  boolean isDetached() {
    return parsed.hasMatchedOption("--detach");
  }

  /** Returns whether the daemon runs the command, on a terminal. */
  boolean hasTerminal() {
    return ExecOptions.hasTerminal(parsed);
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
    Optional<String> backend = Options.find(parsed, "--backend");
    spec = backend.isPresent() ? spec.withBackend(backend.get()) : spec;
    for (String text : Options.many(parsed, "--mount")) {
      spec = spec.withMount(BoxOptions.mount(caller, parsed, text));
    }
    for (String text : Options.many(parsed, "--packages")) {
      spec = spec.withPackages(caller.absolutePath(text));
    }
    for (String text : Options.many(parsed, "--file")) {
      spec = spec.withFile(BoxOptions.file(caller, parsed, text));
    }
    return spec;
  }

  ExecSpec exec() {
    List<String> command = parsed.matchedPositionalValue(0, List.of());
    if (command.isEmpty()) {
      throw Options.bad(parsed, "no command given");
    }
    ExecSpec defaults = ExecSpec.of(command);
    ExecSpec spec =
        defaults
            .withEnvironment(ExecOptions.environment(parsed))
            .withWorkdir(Options.get(parsed, "--workdir", defaults.workdir()))
            .withTimeout(Options.get(parsed, "--timeout", defaults.timeout()))
            .withGrace(Options.get(parsed, "--grace", defaults.grace()))
            .withOutputLimit(Options.get(parsed, "--output-limit", defaults.outputLimit()))
            .withOpenFiles(Options.get(parsed, "--nofile", defaults.openFiles()))
            .withFileSize(Options.get(parsed, "--fsize", defaults.fileSize()))
            .withInput();
    return parsed.hasMatchedOption("--keep") ? spec.withKeep() : spec;
  }
}
