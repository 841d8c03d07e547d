package dev.ebb.testkit;

import java.util.List;

/** The kernel module uses nothing but the JDK. */
class KernelArchitectureTest implements ArchitectureRules {
  @Override
  public String module() {
    return "kernel";
  }

  @Override
  public List<String> packages() {
    return List.of("dev.ebb.kernel");
  }

  @Override
  public int leastClasses() {
    return 30;
  }

  @Override
  public boolean isKernel() {
    return true;
  }
}
