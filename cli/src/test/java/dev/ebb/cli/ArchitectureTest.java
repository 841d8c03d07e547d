package dev.ebb.cli;

import dev.ebb.testkit.ArchitectureRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The command reaches boxes by the exported packages of the runtime, or by the client. */
class ArchitectureTest implements ArchitectureRules {
  private static final List<String> COMMANDS =
      List.of(
          "dev.ebb.cli.box",
          "dev.ebb.cli.exec",
          "dev.ebb.cli.code",
          "dev.ebb.cli.files",
          "dev.ebb.cli.watch",
          "dev.ebb.cli.operate",
          "dev.ebb.cli.mcp");

  @Override
  public String module() {
    return "cli";
  }

  @Override
  public List<String> packages() {
    var order =
        new ArrayList<>(
            List.of(
                "dev.ebb.cli.output",
                "dev.ebb.cli.caller",
                "dev.ebb.cli.option",
                "dev.ebb.cli.daemon"));
    order.addAll(COMMANDS);
    order.add("dev.ebb.cli");
    order.add("dev.ebb.cli.front");
    return order;
  }

  @Override
  public Set<String> separatePackages() {
    return Set.copyOf(COMMANDS);
  }

  /** Commands also run in a daemon, for a process elsewhere. */
  @Override
  public Set<String> ownersOfTheProcess() {
    return Set.of("dev.ebb.cli.caller.OwnProcess");
  }

  @Override
  public int leastClasses() {
    return 60;
  }

  @Override
  public Set<String> usedModules() {
    return Set.of("runtime", "client", "json", "torture", "kernel");
  }

  @Override
  public Set<String> libraries() {
    return Set.of("picocli");
  }
}
