package dev.ebb.cli.operate;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonEnvironment;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.engine.HomeTools;
import dev.ebb.torture.host.Host;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** A temporary home beside ours, to test a separate daemon; a signal ends the test early. */
final class TrialHome {
  private TrialHome() {}

  /** Runs a test in the home, and returns its exit code. */
  interface Visit {
    int in(Host host, BooleanSupplier isCalledOff) throws IOException, InterruptedException;
  }

  static int visit(Caller caller, String command, Visit visit)
      throws IOException, InterruptedException {
    Path script = script(caller, command);
    var signal = new AtomicInteger();
    caller.onSignals(Caller.ENDING, signal::set);
    int code =
        HomeTools.aside(
            HomeTools.prepareHome(caller.home()),
            home ->
                visit.in(
                    new Host(script, home, environment(caller, home), description()),
                    () -> signal.get() != 0));
    return code == 0 && signal.get() != 0 ? ExitCode.SIGNALLED + signal.get() : code;
  }

  private static Path script(Caller caller, String command) throws IOException {
    return caller
        .root()
        .map(root -> root.resolve("ebb"))
        .orElseThrow(() -> new IOException(command + " can be started by the script ebb only"));
  }

  /** Leaves out the configuration of the daemon of this host. */
  private static List<String> environment(Caller caller, Path home) {
    Map<String, String> ours = new HashMap<>(caller.environment());
    ours.keySet().removeIf(name -> name.startsWith("EBB_") && !name.equals("EBB_JAVA_HOME"));
    return DaemonEnvironment.of(caller, ours, home);
  }

  private static String description() {
    return "Linux %s, %d processors, java %s"
        .formatted(
            System.getProperty("os.version"),
            Runtime.getRuntime().availableProcessors(),
            Runtime.version());
  }
}
