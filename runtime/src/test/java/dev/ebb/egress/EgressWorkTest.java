package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.HostName;
import dev.ebb.testkit.WorkPerByte;
import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** One thread carries the bytes of all boxes: no head may cost it more than its length. */
class EgressWorkTest {
  private static final int HEAD_MOST = 16 * 1024;
  private static final String GET = "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n";

  private static Arguments head(String name, IntFunction<String> text) {
    return Arguments.of(name, text);
  }

  static Stream<Arguments> heads() {
    return Stream.of(
        head("spaces before a bad value", n -> GET + "X:" + " ".repeat(n) + "\u0001\r\n\r\n"),
        head("a value of gaps", n -> GET + "X: " + "a ".repeat(n / 2) + "\u0001\r\n\r\n"),
        head("one long value", n -> GET + "X: " + "a".repeat(n) + "\u0001\r\n\r\n"),
        head("one long value and gaps", n -> GET + "X: a" + " ".repeat(n) + "\u0001\r\n\r\n"),
        head("a name without a colon", n -> GET + "x".repeat(n) + "\r\n\r\n"),
        head("lines", n -> GET + "X:\r\n".repeat(n / 4) + "\r\n"),
        head("empty names of Connection", n -> GET + "Connection: " + ",".repeat(n) + "\r\n\r\n"),
        head("a method", n -> "G".repeat(n) + "\r\n\r\n"),
        head("a target", n -> "GET http://" + "a/?".repeat(n / 3) + "# HTTP/1.1\r\n\r\n"),
        head("an authority", n -> "CONNECT " + "a".repeat(n) + ":1x HTTP/1.1\r\n\r\n"),
        head("an authority of dots", n -> "CONNECT " + "1.".repeat(n / 2) + "x:1 HTTP/1.1\r\n\r\n"),
        head("an authority of zeros", n -> "CONNECT " + "0".repeat(n) + "x:1 HTTP/1.1\r\n\r\n"),
        head("brackets", n -> "CONNECT " + "[".repeat(n) + " HTTP/1.1\r\n\r\n"),
        head("a length", n -> GET + "Content-Length: " + "1".repeat(n) + "\r\n\r\n"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("heads")
  void aRequestCostsItsLength(String name, IntFunction<String> text) {
    WorkPerByte.assertBounded(
        name,
        HEAD_MOST,
        n -> text.apply(n).getBytes(ISO_8859_1),
        bytes -> RequestHead.parse(bytes, RequestHead.end(bytes, 0, bytes.length)));
  }

  static Stream<Arguments> answers() {
    return Stream.of(
        head("spaces of an interim answer", n -> "HTTP/1.1 100" + " ".repeat(n) + "\u0085\n"),
        head("a status line", n -> "HTTP/1.1 200 " + "x".repeat(n)),
        head("interim answers", n -> "HTTP/1.1 100 C\r\n\r\n".repeat(n / 18)),
        head("interim fields", n -> "HTTP/1.1 100 C\r\n" + "X: y\r\n".repeat(n / 6)),
        head("one interim field", n -> "HTTP/1.1 100 C\r\n" + "x".repeat(n)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("answers")
  void anAnswerCostsItsLength(String name, IntFunction<String> text) {
    WorkPerByte.assertBounded(
        name,
        8 * 1024 - 64,
        n -> text.apply(n).getBytes(ISO_8859_1),
        bytes -> {
          AnswerHead head = AnswerHead.ofRequest();
          for (byte each : bytes) {
            head.edit(new byte[] {each});
          }
        });
  }

  @Test
  void nothingOfAnInterimFieldIsKept() {
    AnswerHead head = AnswerHead.ofRequest();
    head.edit("HTTP/1.1 103 Early Hints\r\n".getBytes(ISO_8859_1));
    byte[] endless = new byte[1024];
    Arrays.fill(endless, (byte) 'x');
    for (int i = 0; i < 64; i++) {
      assertThat(head.edit(endless)).isEqualTo(endless);
    }
    assertThat(head.rest()).isEmpty();
  }

  @Test
  void aNameCostsItsLength() {
    for (String part : new String[] {"a", "a-", "-", "1.", "a.", ".", "0x", "0"}) {
      WorkPerByte.assertBounded(
          part,
          HEAD_MOST,
          n -> part.repeat(n / part.length()) + "\u0001",
          text -> {
            HostName.isAddress(text);
            HostName.ofAscii(text);
          });
    }
  }
}
