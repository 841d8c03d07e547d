package dev.ebb.torture;

import dev.ebb.testkit.ArchitectureRules;
import java.util.List;
import java.util.Set;

/** Torture never uses the runtime, which it judges. */
class ArchitectureTest implements ArchitectureRules {
  @Override
  public String module() {
    return "torture";
  }

  @Override
  public List<String> packages() {
    return List.of(
        "dev.ebb.torture.page", "dev.ebb.torture.host", "dev.ebb.torture", "dev.ebb.torture.soak");
  }

  @Override
  public Set<String> separatePackages() {
    return Set.of("dev.ebb.torture", "dev.ebb.torture.soak");
  }

  @Override
  public int leastClasses() {
    return 45;
  }

  @Override
  public Set<String> usedModules() {
    return Set.of("client", "json", "kernel", "oracle");
  }
}
