package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A program runs in the place of init and looks for a way to the host by all it is handed: its
 * descriptors, its root, its working directory.
 */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class CompromisedInitKernelTest {
  private static final String OVERRIDE = "ebb.init";

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private Path open;
  private Path hostile;

  /** Where any user of the host may look; the home is its owner's alone. */
  @BeforeEach
  void prepare() throws IOException {
    open = Files.createTempDirectory(Path.of("/tmp"), "ebb-open");
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path secret = Files.writeString(open.resolve("secret"), "of the host");
    Path real = open.resolve("ebb-init");
    try (InputStream program = InitBinary.class.getResourceAsStream("ebb-init")) {
      Files.copy(program, real);
    }
    hostile = open.resolve("hostile");
    try (InputStream script = Engine.class.getResourceAsStream("hostile-init.py")) {
      String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
      Files.writeString(
          hostile,
          text.replace("@REAL@", real.toString())
              .replace("@SECRET@", secret.toString().substring(1))
              .replace("@VERSION@", Integer.toString(Protocol.PROTOCOL_VERSION)));
    }
    Files.setPosixFilePermissions(real, PosixFilePermissions.fromString("rwxr-xr-x"));
    Files.setPosixFilePermissions(hostile, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  @AfterEach
  void remove() throws IOException {
    for (String name : new String[] {"secret", "ebb-init", "hostile"}) {
      Files.delete(open.resolve(name));
    }
    Files.delete(open);
  }

  private Engine engine() throws IOException, KernelException {
    System.setProperty(OVERRIDE, hostile.toString());
    try {
      return Engine.open(host.home());
    } finally {
      System.clearProperty(OVERRIDE);
    }
  }

  private static String survey(Engine engine, Box box, ExecSpec spec) throws Exception {
    try (Exec exec = engine.start(box, spec)) {
      assertThat(exec.await(Duration.ofSeconds(20))).isPresent();
      byte[] text = new byte[4096];
      return new String(text, 0, exec.stdout().read(0, text), StandardCharsets.UTF_8);
    }
  }

  @Test
  void noDescriptorOfInitLeadsToTheHost() throws Exception {
    try (Engine engine = engine()) {
      Box box = engine.create(BoxSpec.defaults());
      String seen = survey(engine, box, ExecSpec.of("true").withInput());
      assertThat(seen).contains("/proc/self/root: 0 steps up").contains("fd 0: ");
      assertThat(seen).doesNotContain("was reached").doesNotContain("a way up,");
      List<String> directories =
          seen.lines().filter(line -> line.contains(": directory,")).toList();
      assertThat(directories)
          .as(seen)
          .allMatch(line -> line.contains(": directory, 0 steps up, the secret was not reached"));
      // Without cgroups there is no leaf to hand over.
      if (Feature.CGROUPS.isPresent()) {
        assertThat(directories).as(seen).isNotEmpty();
      }
      assertThat(seen.lines().filter(line -> line.contains(", a way up"))).as(seen).isEmpty();
      engine.release(box);
    }
  }
}
