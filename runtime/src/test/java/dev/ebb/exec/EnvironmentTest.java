package dev.ebb.exec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvironmentTest {
  @Test
  void thereAreAFewUsefulDefaultsAndNothingOfTheHosts() {
    assertThat(Environment.lines(Map.of(), 0))
        .containsExactly(
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/tmp/home",
            "USER=box",
            "LOGNAME=box",
            "SHELL=/bin/bash",
            "LANG=C.UTF-8",
            "TMPDIR=/tmp");
  }

  @Test
  void theCallersVariablesWin() {
    assertThat(Environment.lines(Map.of("HOME", "/workspace", "A", "b=c\nd"), 0))
        .contains("HOME=/workspace", "A=b=c\nd")
        .doesNotContain("HOME=/tmp/home")
        .hasSize(8);
  }

  @Test
  void packagesAreFoundByShellPythonAndNodeInTheirOrder() {
    assertThat(Environment.lines(Map.of(), 2))
        .contains(
            "PATH=/packages/0/bin:/packages/1/bin:"
                + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH=/packages/0:/packages/1",
            "NODE_PATH=/packages/0/node_modules:/packages/1/node_modules");
  }

  @Test
  void aVariableMayBeEmpty() {
    assertThat(Environment.lines(Map.of("PATH", ""), 1)).contains("PATH=");
  }
}
