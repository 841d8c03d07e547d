package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The client in Python, as the dist has it, run by the python3 of the host. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonPythonClientAcceptanceTest {
  private static final Path PYTHON = Path.of("/usr/bin/python3");
  private static final String ALL_DONE =
      "boxes_of_their_own done\ncode done\nboxes done\nevents done\nerrors done\n";

  @TempDir private static Path files;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--tls-certificate", certificate("cert.pem"), "--tls-key", certificate("key.pem"));

  @BeforeAll
  static void requirePython() {
    assumeTrue(Files.isExecutable(PYTHON), "host lacks python3");
  }

  private static String certificate(String name) {
    return TestCertificate.in(files).resolve(name).toString();
  }

  private String python(String... words) throws IOException, InterruptedException {
    var all = new ArrayList<>(List.of(PYTHON.toString()));
    all.addAll(List.of(words));
    var builder = new ProcessBuilder(all).directory(files.toFile()).redirectErrorStream(true);
    Path client = TestHost.root().resolve("dist/target/ebb/python");
    builder.environment().put("PYTHONPATH", client.toString());
    builder.environment().put("PYTHONDONTWRITEBYTECODE", "1");
    builder.environment().put("EBB_HOME", daemon.home().toString());
    Process python = builder.start();
    String said = new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(python.waitFor()).as(said).isZero();
    return said;
  }

  private static String script() throws IOException {
    Path script = files.resolve("every_call.py");
    try (InputStream in =
        DaemonPythonClientAcceptanceTest.class.getResourceAsStream("python/every_call.py")) {
      Files.write(script, in.readAllBytes());
    }
    return script.toString();
  }

  @Test
  void everyCallWorksOverTheUnixSocketAndOverTls() throws Exception {
    String socket = daemon.home().resolve("ebb.sock").toString();
    assertThat(python(script(), socket)).isEqualTo(ALL_DONE);
    String url = daemon.uri().toString().replace("http:", "https:");
    assertThat(python(script(), url, daemon.key(), certificate("cert.pem"))).isEqualTo(ALL_DONE);
  }

  /** The first block of code of the page is a program. */
  @Test
  void theProgramOfThePageRuns() throws Exception {
    String page = Files.readString(TestHost.root().resolve("docs/python.md"));
    String program = page.substring(page.indexOf("```python") + 9);
    program = program.substring(0, program.indexOf("```"));
    assertThat(python("-c", program)).isEqualTo("42\nhello\n2\n[1, 4, 9]\ngone\n");
  }
}
