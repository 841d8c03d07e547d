package dev.ebb.client;

import dev.ebb.testkit.ArchitectureRules;
import java.util.List;
import java.util.Set;

/** The client uses nothing but JSON. */
class ArchitectureTest implements ArchitectureRules {
  @Override
  public String module() {
    return "client";
  }

  @Override
  public List<String> packages() {
    return List.of("dev.ebb.client.http", "dev.ebb.client");
  }

  @Override
  public int leastClasses() {
    return 60;
  }

  @Override
  public Set<String> usedModules() {
    return Set.of("json");
  }
}
