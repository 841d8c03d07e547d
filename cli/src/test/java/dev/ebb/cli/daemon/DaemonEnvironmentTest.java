package dev.ebb.cli.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cli.caller.GivenCaller;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DaemonEnvironmentTest {
  @Test
  void whatTheDaemonDoesNotReadStaysHere() {
    var ours =
        Map.of(
            "PATH", "/bin", "AWS_SECRET", "x", "EBB_KEY", "k", "EBB_URL", "", "EBB_LISTEN", "h:1");

    assertThat(DaemonEnvironment.of(new GivenCaller(Map.of()), ours, Path.of("/home")))
        .containsExactly("EBB_BUILD=never", "EBB_HOME=/home", "EBB_LISTEN=h:1", "PATH=/bin");
  }

  @Test
  void pathsDoNotDependOnWhereWeAre() {
    assertThat(
            DaemonEnvironment.of(
                new GivenCaller(Map.of()), Map.of("EBB_SOCKET", "x.sock"), Path.of("/home")))
        .contains("EBB_SOCKET=" + "/work/x.sock");
  }
}
