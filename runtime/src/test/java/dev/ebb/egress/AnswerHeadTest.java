package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AnswerHeadTest {
  private static final String OK = "HTTP/1.1 200 OK\r\n";
  private static final String CLOSE = "Connection: close\r\n";

  /** In pieces of this size, as a network may hand it on. */
  private static String edited(String answer, int size) {
    AnswerHead head = AnswerHead.ofRequest();
    var out = new ByteArrayOutputStream();
    byte[] bytes = answer.getBytes(ISO_8859_1);
    for (int i = 0; i < bytes.length; i += size) {
      out.writeBytes(head.edit(Arrays.copyOfRange(bytes, i, Math.min(bytes.length, i + size))));
    }
    out.writeBytes(head.rest());
    return out.toString(ISO_8859_1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 16, 17, 18, 1000})
  void aClientLearnsThatItsConnectionServesOneRequest(int size) {
    String fields = "Content-Length: 3\r\n\r\n\u00ffab";
    assertThat(edited(OK + fields, size)).isEqualTo(OK + CLOSE + fields);
    assertThat(edited("HTTP/1.0 404\n\n", size)).isEqualTo("HTTP/1.0 404\n" + CLOSE + "\n");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5, 1000})
  void anInterimAnswerIsNotTheAnswer(int size) {
    String interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    assertThat(edited(interim + OK + "\r\n", size)).isEqualTo(interim + OK + CLOSE + "\r\n");
  }

  @ParameterizedTest
  @CsvSource({"1", "6", "100000"})
  void anInvalidAnswerIsLeftAsItIs(int size) {
    String[] others = {
      "",
      "HTTP/1.",
      "HTTP/1.1 200 OK",
      "HTTP/2 200\r\n\r\n",
      "SSH-2.0\r\n",
      "\r\nHTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\nraw",
      "HTTP/1.1 200 " + "x".repeat(20_000) + "\r\n\r\n"
    };
    for (String other : others) {
      assertThat(edited(other, size)).isEqualTo(other);
    }
  }
}
