package dev.ebb.testkit;

import java.util.List;
import java.util.Set;

/** The oracle shares no code with the runtime, which it judges. */
class OracleArchitectureTest implements ArchitectureRules {
  @Override
  public String module() {
    return "oracle";
  }

  @Override
  public List<String> packages() {
    return List.of("dev.ebb.oracle");
  }

  @Override
  public int leastClasses() {
    return 25;
  }

  @Override
  public Set<String> usedModules() {
    return Set.of("kernel");
  }
}
