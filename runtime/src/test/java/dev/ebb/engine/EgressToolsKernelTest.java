package dev.ebb.engine;

import static dev.ebb.engine.Internet.allowing;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Limits;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The tools that people install packages with: as they are, in a box that may reach an index. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class EgressToolsKernelTest {
  private static final String PIP =
      "python3 -m pip install -q --no-cache-dir --disable-pip-version-check --retries 1"
          + " --target /workspace/lib --trusted-host index.test --index-url ";
  private static final String NPM =
      "npm i --no-audit --no-fund --no-update-notifier --fetch-retries 0 --prefix /workspace --registry ";

  @RegisterExtension final Internet internet = new Internet();

  private static BoxSpec roomy(BoxSpec spec) {
    return spec.withLimits(Limits.defaults().withMemory(ByteSize.mebibytes(1024)));
  }

  private static void require(String tool) {
    Assumptions.assumeTrue(Files.exists(Path.of(tool)), "host lacks " + tool);
  }

  /** Returns all its output, whether it succeeds or not. */
  private String sh(BoxSpec spec, String script) throws Exception {
    var run = internet.engine().run(roomy(spec), Prober.sh("exec 2>&1; " + script));
    assertThat(run.certificate().isClean()).isTrue();
    return run.stdout().text().strip();
  }

  @Test
  void pipInstallsFromAnIndexThatIsAllowedAndSaysWhyWhenItIsNot() throws Exception {
    require("/usr/lib/python3/dist-packages/pip");
    internet.put("index.test", "127.0.0.1");
    try (var registry = Origin.registry("index.test")) {
      String index = "http://index.test:" + registry.port() + "/simple ";
      String use = " && PYTHONPATH=/workspace/lib python3 -c 'import tide; print(tide.word)'";
      assertThat(sh(allowing("index.test:" + registry.port()), PIP + index + "tide" + use))
          .isEqualTo("low");
      // For an index over http, pip does not print the reason of a refusal.
      assertThat(sh(allowing("other.test"), PIP + index + "tide" + use))
          .contains("No matching distribution found for tide");
      assertThat(sh(allowing("other.test"), PIP + "https://index.test/simple tide" + use))
          .contains("Tunnel connection failed: 403 Ebb: index.test:443 is not allowed");
      assertThat(sh(BoxSpec.defaults(), PIP + index + "tide" + use)).contains("name resolution");
    }
  }

  /**
   * The registry closes without a notice; a client that does not know may send the next request
   * there.
   */
  @Test
  void aClientLearnsThatItsConnectionServesOneRequest() throws Exception {
    internet.put("index.test", "127.0.0.1");
    try (var registry = Origin.registry("index.test")) {
      String ask =
          "python3 -c 'import urllib.request as u; answer = u.urlopen(\"http://index.test:"
              + registry.port()
              + "/tide\"); print(answer.headers.get_all(\"Connection\"), b\"dist\" in answer.read())'";
      assertThat(sh(allowing("index.test:" + registry.port()), ask)).isEqualTo("['close'] True");
    }
  }

  @Test
  void npmInstallsFromARegistryThatIsAllowedAndSaysWhyWhenItIsNot() throws Exception {
    require("/usr/bin/npm");
    internet.put("index.test", "127.0.0.1");
    try (var registry = Origin.registry("index.test")) {
      String place = "http://index.test:" + registry.port() + "/ ";
      String use = " && node -e 'console.log(require(\"/workspace/node_modules/tide\").word)'";
      assertThat(sh(allowing("index.test:" + registry.port()), NPM + place + "tide" + use))
          .endsWith("high");
      assertThat(sh(allowing("other.test"), NPM + place + "tide" + use))
          .contains("403")
          .contains(
              "Ebb: index.test:" + registry.port() + " is not allowed by the network of this box");
      assertThat(sh(allowing("other.test"), NPM + "https://index.test/ tide" + use))
          .contains("403");
      assertThat(sh(BoxSpec.defaults(), NPM + place + "tide" + use)).contains("EAI_AGAIN");
    }
  }
}
