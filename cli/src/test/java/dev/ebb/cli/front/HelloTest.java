package dev.ebb.cli.front;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class HelloTest {
  private static byte[] texts(String... texts) {
    return (String.join("\0", texts) + "\0").getBytes(UTF_8);
  }

  private static Hello hello(String... variables) throws IOException {
    String start = "b1\0/work\0" + "6\0" + "24\0" + "80\0" + "2\0ls\0-q";
    return Hello.parse(
        texts(start + (variables.length == 0 ? "" : "\0" + String.join("\0", variables))));
  }

  private static List<Charset> charset(String... variables) throws IOException {
    return hello(variables).charset().stream().toList();
  }

  @Test
  void aHelloSaysWhatTheFrontWasCalledWith() throws Exception {
    assertThat(hello("A=b=c", "EBB_HOME=x"))
        .isEqualTo(
            new Hello(
                "b1",
                Path.of("/work"),
                6,
                Hello.size(24, 80),
                List.of("ls", "-q"),
                Map.of("A", "b=c", "EBB_HOME", "/work/x")));
    assertThat(hello().size()).contains(new Terminal.Size(24, 80));
  }

  @Test
  void aTerminalWithoutASizeHasNone() {
    assertThat(Hello.size(0, 80)).isEmpty();
  }

  @Test
  void theCharsetIsThatOfTheLocale() throws Exception {
    assertThat(charset()).containsExactly(US_ASCII);
    assertThat(charset("LANG=en_US.UTF-8")).containsExactly(UTF_8);
    assertThat(charset("LANG=en_US.UTF-8", "LC_ALL=C")).containsExactly(US_ASCII);
    assertThat(charset("LC_CTYPE=C.utf8", "LANG=C", "LC_ALL=")).containsExactly(UTF_8);
    assertThat(charset("LANG=de_DE@euro")).isEmpty();
  }

  @Test
  void whatNoFrontSendsIsRefused() {
    for (String bad : List.of("", "b\0/\0x", "b\0/\0" + "0\0" + "0\0" + "0\0" + "2\0ls")) {
      assertThatThrownBy(() -> Hello.parse(texts(bad))).isInstanceOf(IOException.class);
    }
    byte[] latin = "b1\0/\0\u00e9\0".getBytes(ISO_8859_1);
    assertThatThrownBy(() -> Hello.parse(latin)).isInstanceOf(IOException.class);
  }
}
