package dev.ebb.json;

import dev.ebb.testkit.ArchitectureRules;
import java.util.List;

/** The JSON module uses nothing but the JDK. */
class ArchitectureTest implements ArchitectureRules {
  @Override
  public String module() {
    return "json";
  }

  @Override
  public List<String> packages() {
    return List.of("dev.ebb.json");
  }

  @Override
  public int leastClasses() {
    return 8;
  }
}
