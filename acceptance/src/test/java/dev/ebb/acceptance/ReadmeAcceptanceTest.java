package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
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

/** The commands of the README have the output that it shows. */
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
        List.of(
            "dev.ebb.engine.Engine",
            "dev.ebb.engine.RunResult",
            "dev.ebb.model.BoxSpec",
            "dev.ebb.model.ExecSpec"),
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
      assertThat(output("dev.ebb.client"))
          .startsWith("42\n")
          .contains("nothing left")
          .endsWith("ok a.txt\n");
    } finally {
      daemon.destroy();
      assertThat(daemon.waitFor()).isZero();
    }
  }

  @Test
  void theExamplesOfCurlAnswerAsShown() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/curl")), "host lacks curl");
    var daemon = new Ebb(host.home()).start("serve");
    try {
      assertThat(daemon.inputReader().readLine()).startsWith("ebb: serving on ");
      List<String> lines = readme().lines().filter(line -> line.startsWith("curl ")).toList();
      assertThat(lines).hasSize(2);
      for (String line : lines) {
        Process curl =
            new ProcessBuilder("sh", "-c", line.replace("/var/lib/ebb", host.home().toString()))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String answer = new String(curl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(curl.waitFor()).isZero();
        assertThat(answer)
            .contains("\"stdout\":{\"text\":\"42\\n\"}")
            .contains("\"released\":\"pending\"");
      }
      // Each piece of output that the README shows is in the last answer.
      String shown =
          readme()
              .lines()
              .filter(line -> line.startsWith("{\"language\""))
              .findFirst()
              .orElseThrow();
      assertThat(shown.split("…")).hasSizeGreaterThan(3);
    } finally {
      daemon.destroy();
      assertThat(daemon.waitFor()).isZero();
    }
  }

  @Test
  void theConfigurationForAgentsStartsWhatAnswersAsShown() throws Exception {
    String readme = readme();
    Matcher block =
        Pattern.compile("```json\n(\\{\"mcpServers.*?)```", Pattern.DOTALL).matcher(readme);
    assertThat(block.find()).isTrue();
    JsonObject server = Json.readObject(block.group(1)).object("mcpServers").object("ebb");
    assertThat(server.string("command")).endsWith("/ebb");
    var daemon = new Ebb(host.home()).start("serve");
    try {
      assertThat(daemon.inputReader().readLine()).startsWith("ebb: serving on ");
      Process agent = new Ebb(host.home()).start(server.strings("args").toArray(String[]::new));
      try (var out = agent.outputWriter()) {
        out.write(
            """
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}}
            {"jsonrpc": "2.0", "method": "notifications/initialized"}
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "execute_code", "arguments": {"language": "python", "code": "print(6*7)"}}}
            """);
        out.flush();
        var in = agent.inputReader();
        assertThat(in.readLine()).contains("\"name\":\"ebb\"");
        String text =
            Json.readObject(in.readLine())
                .object("result")
                .objects("content")
                .get(0)
                .string("text");
        String shown =
            readme.substring(readme.indexOf("ok: exited"), readme.indexOf("42\n```") + 3);
        assertThat(text.replaceAll("\\d+ ms", "24 ms")).isEqualTo(shown);
      }
      assertThat(agent.waitFor()).isZero();
    } finally {
      daemon.destroy();
      assertThat(daemon.waitFor()).isZero();
    }
  }

  private static String readme() throws IOException {
    return Files.readString(TestHost.root().resolve("README.md"));
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
