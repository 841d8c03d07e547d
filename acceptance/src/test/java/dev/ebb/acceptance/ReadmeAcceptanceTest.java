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
import java.util.stream.Collectors;
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

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  @TempDir Path directory;

  @Test
  void theExampleInJavaCompilesAndRuns() throws Exception {
    compile(
        "25",
        "dev.ebb.runtime",
        List.of("dev.ebb.box.BoxSpec", "dev.ebb.engine.Engine", "dev.ebb.exec.ExecSpec"),
        example(0));
    assertThat(output("dev.ebb.runtime"))
        .startsWith("42\n")
        .contains("Exited[code=0]")
        .contains("nothing left");
  }

  @Test
  void theExampleOfTheClientCompilesAndRuns() throws Exception {
    var daemon = new Ebb(host.home()).start("serve");
    try {
      assertThat(daemon.inputReader().readLine()).startsWith("ebb: serving on ");
      compile(
          "17",
          "dev.ebb.client",
          List.of("dev.ebb.client.*", "java.nio.file.Path"),
          example(1).replace("/var/lib/ebb", host.home().toString()));
      assertThat(output("dev.ebb.client")).startsWith("42\n").contains("nothing left");
    } finally {
      daemon.destroy();
      assertThat(daemon.waitFor()).isZero();
    }
  }

  @Test
  void theTwoCommandsComeFirst() throws IOException {
    String readme = Files.readString(TestHost.root().resolve("README.md"));

    assertThat(readme.substring(readme.indexOf("```")))
        .startsWith("```\n./ebb run -- python3 -c 'print(6*7)'\n./test\n```");
  }

  private static String example(int number) throws IOException {
    Matcher matcher = JAVA.matcher(Files.readString(TestHost.root().resolve("README.md")));
    return matcher.results().skip(number).findFirst().orElseThrow().group(1);
  }

  private void compile(String release, String module, List<String> imports, String example)
      throws IOException {
    String head =
        imports.stream().map(name -> "import " + name + ";\n").collect(Collectors.joining());
    Path source =
        Files.writeString(
            directory.resolve("Example.java"),
            """
            %s
            class Example {
              public static void main(String[] args) throws Exception {
                %s
              }
            }
            """
                .formatted(head, example));
    String[] words = {
      "--release", release, "--module-path", lib(), "--add-modules", module, source.toString()
    };
    assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, words)).isZero();
  }

  private String output(String module) throws IOException, InterruptedException {
    var builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--module-path",
                lib(),
                "--add-modules",
                module + ",dev.ebb.runtime",
                "--enable-native-access=dev.ebb.kernel",
                "-cp",
                directory.toString(),
                "Example")
            .redirectErrorStream(true);
    builder.environment().put("EBB_HOME", host.home().toString());
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }

  private static String lib() {
    return TestHost.root().resolve("dist/target/ebb/lib").toString();
  }
}
