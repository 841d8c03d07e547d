package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code ebb code} and {@code ebb languages}, as one types them. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
class DaemonCodeCliAcceptanceTest {
  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  @TempDir Path directory;

  private static Ebb.Outcome call(String... words) throws Exception {
    return DAEMON.ebb().call(words);
  }

  @Test
  void codeIsAWordAFileOrStdin() throws Exception {
    var word = call("code", "python", "import sys; print(sys.argv[1:])", "--", "one", "--two");
    assertThat(word.text()).as(word.stderr()).isEqualTo("['one', '--two']\n");
    assertThat(word.stderr()).isEmpty();
    assertThat(word.code()).isZero();

    Path file = Files.writeString(directory.resolve("any.sh"), "echo \"$1\"; cat; exit 3");
    var fromFile =
        DAEMON.ebb().call("in".getBytes(UTF_8), "code", "-i", "-f", file.toString(), "bash", "x");
    assertThat(fromFile.text()).isEqualTo("x\nin");
    assertThat(fromFile.code()).isEqualTo(3);

    var fromStdin = DAEMON.ebb().call("print(6 * 7)".getBytes(UTF_8), "code", "python", "-");
    assertThat(fromStdin.text()).isEqualTo("42\n");
  }

  @Test
  void eachEndIsReported() throws Exception {
    var broken = call("code", "python", "def (:");
    assertThat(broken.stderr()).contains("SyntaxError").endsWith("the code does not compile\n");
    assertThat(broken.code()).isEqualTo(1);
    var late = call("code", "--timeout", "3s", "python", "print(1, flush=True)\nwhile True: pass");
    assertThat(late.text()).isEqualTo("1\n");
    assertThat(late.stderr()).isEqualTo("ebb: timed out (--timeout)\n");
    assertThat(late.code()).isEqualTo(124);
    var unknown = call("code", "klingon", "x");
    assertThat(unknown.stderr()).startsWith("ebb").contains("klingon", "this host has ", "python");
    assertThat(unknown.code()).isEqualTo(125);
    var nothing = call("code", "python");
    assertThat(nothing.stderr()).contains("no code given");
    assertThat(nothing.code()).isEqualTo(125);
  }

  @Test
  void forProgramsItIsOneDocument() throws Exception {
    var json = Json.readObject(call("code", "--json", "python", "print(1)").text());
    assertThat(json.string("outcome")).isEqualTo("ok");
    assertThat(json.object("stdout").string("text")).isEqualTo("1\n");
    assertThat(json.string("released")).isIn("pending", "done");
    assertThat(json.string("certificateUrl")).endsWith("/" + json.string("box"));
  }

  @Test
  void whatItWroteIsCopiedOutAndNoFurther() throws Exception {
    Path out = Files.createDirectory(directory.resolve("out"));
    Path other = Files.createDirectory(directory.resolve("other"));
    Path precious = Files.writeString(directory.resolve("precious"), "precious");
    Files.createSymbolicLink(out.resolve("away"), other);
    Files.createSymbolicLink(out.resolve("a.txt"), precious);

    String good = "import os; os.mkdir('d'); open('d/b.txt', 'w').write('b'); open('c', 'w')";
    var copied = call("code", "--out", "**/*.txt", "--to", out.toString(), "python", good);
    assertThat(copied.code()).as(copied.stderr()).isZero();
    assertThat(out.resolve("d/b.txt")).hasContent("b");
    assertThat(out.resolve("c")).doesNotExist();

    String through = "import os; os.mkdir('away'); open('away/b.txt', 'w').write('bad')";
    var refused = call("code", "--out", "**", "--to", out.toString(), "python", through);
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.stderr()).contains("away/b.txt", "its directory is a symbolic link");
    assertThat(other).isEmptyDirectory();

    String onto = "open('a.txt', 'w').write('bad')";
    var kept = call("code", "--out", "a.txt", "--to", out.toString(), "python", onto);
    assertThat(kept.code()).isEqualTo(125);
    assertThat(precious).hasContent("precious");
  }

  @Test
  void theLanguagesAreListed() throws Exception {
    var table = call("languages");
    assertThat(table.text())
        .startsWith("LANGUAGE ")
        .containsPattern("(?m)^python +3\\.\\d+.* py\\b")
        .containsPattern("(?m)^bash +5\\.");
    JsonObject json = Json.readObject(call("languages", "--json").text());
    assertThat(json.objects("languages")).hasSizeGreaterThan(10);
  }
}
