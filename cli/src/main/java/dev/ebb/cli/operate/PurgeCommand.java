package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Terminal;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Purge;
import dev.ebb.supervision.Recovery;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb purge}: takes Ebb off this host. */
public final class PurgeCommand {
  /** How long a daemon may take to end its boxes. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final Duration LOOK_AGAIN = Duration.ofMillis(20);

  private PurgeCommand() {}

  public static CommandSpec spec() {
    return Options.command(
            "purge", "Stop the daemon, release everything, and remove the home of Ebb.")
        .addOption(Options.flag("do not ask", "-y", "--yes"));
  }

  public static int run(Caller caller, ParseResult parsed)
      throws InterruptedException, IOException {
    Path home = caller.home();
    if (!Files.exists(home, LinkOption.NOFOLLOW_LINKS)) {
      caller.out().println("nothing to remove: there is no " + home);
      return 0;
    }
    if (isEmpty(home)) {
      caller.out().println("nothing to remove: " + home + " is empty");
      return 0;
    }
    requireHome(home);
    if (!parsed.hasMatchedOption("--yes") && !isConfirmed(caller, parsed, home)) {
      caller.err().println("ebb: nothing was removed");
      return ExitCode.OWN_FAILURE;
    }
    return HomeTools.purge(home, purge -> purge(caller, purge));
  }

  private static void requireHome(Path home) throws IOException {
    if (!Files.isDirectory(home.resolve("instances"))) {
      throw new IOException(home + " is not a home of Ebb: it has no instances");
    }
  }

  private static boolean isEmpty(Path home) throws IOException {
    try (var entries = Files.list(home)) {
      return entries.findFirst().isEmpty();
    }
  }

  private static boolean isConfirmed(Caller caller, ParseResult parsed, Path home)
      throws IOException {
    if (!caller.isTerminal(Terminal.Stream.STDIN)) {
      throw Options.bad(parsed, "would remove " + home + "; add --yes to confirm");
    }
    caller.out().print("End the daemon with its boxes and remove " + home + "? [y/N] ");
    caller.out().flush();
    var in = new BufferedReader(new InputStreamReader(caller.in(), StandardCharsets.UTF_8));
    String answer = in.readLine();
    return answer != null && answer.strip().matches("(?i)y(es)?");
  }

  private static int purge(Caller caller, Purge purge) throws KernelException, IOException {
    Optional<ProcessRef> daemon = purge.daemon();
    var others = new ArrayList<>(purge.living());
    daemon.ifPresent(others::remove);
    if (!others.isEmpty()) {
      throw new IOException("in use by " + pids(others) + "; end that first");
    }
    if (daemon.isPresent()) {
      end(caller, purge, daemon.get());
    }
    return print(caller, purge.run());
  }

  private static String pids(List<ProcessRef> processes) {
    return processes.stream()
        .map(process -> "pid " + process.pid())
        .collect(Collectors.joining(", "));
  }

  private static void end(Caller caller, Purge purge, ProcessRef daemon)
      throws KernelException, IOException {
    purge.end(daemon);
    if (!Deadline.in(PATIENCE).until(LOOK_AGAIN, () -> !daemon.isAlive())) {
      throw new IOException("the daemon, pid " + daemon.pid() + ", does not end");
    }
    caller.out().println("stopped    the daemon, pid " + daemon.pid());
  }

  private static int print(Caller caller, Purge.Outcome outcome) {
    for (Recovery.Finding finding : outcome.findings()) {
      if (!(finding.fate() instanceof Recovery.Fate.Absent)) {
        caller
            .out()
            .printf(
                "%-10s %-9s %s%n",
                finding.fate().describe(), finding.kind().wireName(), finding.subject());
      }
    }
    outcome.removed().forEach(path -> caller.out().println("removed    " + path));
    outcome.kept().forEach(path -> caller.err().println("ebb: kept " + path + ": it is not Ebb's"));
    if (outcome.isStuck()) {
      caller.err().println("ebb: the home stays until what is stuck is gone");
      return ExitCode.OWN_FAILURE;
    }
    return 0;
  }
}
