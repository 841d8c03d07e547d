package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What the README shows is what a reader gets. */
@Tag("kernel")
@LeakChecked
class ReadmeAcceptanceTest {
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP);

  @TempDir Path directory;

  @Test
  void theExampleInJavaCompilesAndRuns() throws Exception {
    compile(example());

    Process process = run();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

    assertThat(output).startsWith("42\n").contains("Exited[code=0]").contains("nothing left");
    assertThat(process.waitFor()).isZero();
  }

  @Test
  void theTwoCommandsComeFirst() throws IOException {
    String readme = Files.readString(TestHost.root().resolve("README.md"));

    assertThat(readme.substring(readme.indexOf("```")))
        .startsWith("```\n./ebb run -- python3 -c 'print(6*7)'\n./test\n```");
  }

  private static String example() throws IOException {
    Matcher matcher = JAVA.matcher(Files.readString(TestHost.root().resolve("README.md")));
    assertThat(matcher.find()).isTrue();
    return matcher.group(1);
  }

  private void compile(String example) throws IOException {
    Path source =
        Files.writeString(
            directory.resolve("Example.java"),
            """
            import dev.ebb.box.BoxSpec;
            import dev.ebb.engine.Engine;
            import dev.ebb.exec.ExecSpec;
            class Example {
              public static void main(String[] args) throws InterruptedException {
                %s
              }
            }
            """
                .formatted(example));
    int failed =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                List.of(
                        "--module-path",
                        lib(),
                        "--add-modules",
                        "dev.ebb.runtime",
                        source.toString())
                    .toArray(String[]::new));
    assertThat(failed).isZero();
  }

  private Process run() throws IOException {
    var builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--module-path",
                lib(),
                "--add-modules",
                "dev.ebb.runtime",
                "--enable-native-access=dev.ebb.kernel",
                "-cp",
                directory.toString(),
                "Example")
            .redirectErrorStream(true);
    builder.environment().put("EBB_HOME", host.home().toString());
    return builder.start();
  }

  private static String lib() {
    return TestHost.root().resolve("dist/target/ebb/lib").toString();
  }
}
