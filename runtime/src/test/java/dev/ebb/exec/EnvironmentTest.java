package dev.ebb.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.ExecKind;
import dev.ebb.model.Network;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvironmentTest {
  @Test
  void thereAreAFewUsefulDefaultsAndNothingOfTheHosts() {
    assertThat(Environment.lines(Map.of(), 0, ExecKind.COMMAND, Network.NONE))
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
  void aCommandWithATerminalGetsItsKindInTerm() {
    var terminal = new ExecKind.Terminal(24, 80);
    assertThat(Environment.lines(Map.of(), 0, terminal, Network.NONE))
        .contains("TERM=xterm-256color")
        .hasSize(8);
    assertThat(Environment.lines(Map.of("TERM", "dumb"), 0, terminal, Network.NONE))
        .contains("TERM=dumb")
        .hasSize(8);
  }

  @Test
  void theCallersVariablesWin() {
    assertThat(
            Environment.lines(
                Map.of("HOME", "/workspace", "A", "b=c\nd"), 0, ExecKind.COMMAND, Network.NONE))
        .contains("HOME=/workspace", "A=b=c\nd")
        .doesNotContain("HOME=/tmp/home")
        .hasSize(8);
  }

  @Test
  void packagesAreFoundByShellPythonAndNodeInTheirOrder() {
    assertThat(Environment.lines(Map.of(), 2, ExecKind.COMMAND, Network.NONE))
        .contains(
            "PATH=/packages/0/bin:/packages/1/bin:"
                + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH=/packages/0:/packages/1",
            "NODE_PATH=/packages/0/node_modules:/packages/1/node_modules");
  }

  @Test
  void aVariableMayBeEmpty() {
    assertThat(Environment.lines(Map.of("PATH", ""), 1, ExecKind.COMMAND, Network.NONE))
        .contains("PATH=");
  }
}
