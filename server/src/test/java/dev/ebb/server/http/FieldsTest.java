package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FieldsTest {
  private static Fields parse(String text) {
    return Fields.parse(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void presentFieldsAreReadAndMissingOnesAreAbsent() {
    Fields fields =
        parse("{\"a\":\"x\",\"n\":3,\"f\":0.5,\"t\":true,\"m\":{\"k\":\"v\"},\"l\":[\"p\",\"q\"]}");
    assertThat(fields.text("a")).hasValue("x");
    assertThat(fields.text("none")).isEmpty();
    assertThat(fields.number("n", 0, 9)).hasValue(3);
    assertThat(fields.fraction("f")).hasValue(0.5);
    assertThat(fields.flag("t")).isTrue();
    assertThat(fields.textMap("m")).isEqualTo(Map.of("k", "v"));
    assertThat(fields.texts("l")).containsExactly("p", "q");
    fields.end();
  }

  @Test
  void anEmptyBodyIsAnObjectWithoutFields() {
    parse(" ").end();
  }

  @Test
  void anUnknownFieldIsNamedWithItsPlace() {
    Fields fields = parse("{\"limits\":{\"memory\":1}}");
    Fields limits = fields.object("limits").orElseThrow();
    limits.number("memoryBytes", 0, 9);
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(limits::end)
        .withMessage("unknown field \"limits.memory\"; known here: memoryBytes");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {"n":"3"}   | "n" must be a whole number from 0 to 9
          {"n":10}    | "n" must be a whole number from 0 to 9
          {"n":-1}    | "n" must be a whole number from 0 to 9
          {"n":1.5}   | "n" must be a whole number from 0 to 9
          {"n":1e400} | the body is no JSON object; at 10: the number is too large, or too long
          {"n":[]}    | "n" must be a whole number from 0 to 9
          """)
  void aNumberThatIsNoneIsRefused(String body, String message) {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> parse(body).number("n", 0, 9))
        .withMessage(message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "[]", "nonsense", "{\"a\":}", "{\"a\" 1}", "\"text\"", "{\"a\":1"})
  void aBodyThatIsNoObjectIsRefused(String body) {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> parse(body))
        .satisfies(problem -> assertThat(problem.status()).isEqualTo(400));
  }

  @Test
  void nestingIsBounded() {
    String deep = "{\"a\":" + "[".repeat(100_000) + "]".repeat(100_000) + "}";
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> parse(deep))
        .withMessageEndingWith("it is nested deeper than 32");
    assertThat(parse("{\"a\":\"" + "[".repeat(1000) + "\\\"{\"}").text("a")).isPresent();
  }

  @Test
  void valuesAreCounted() {
    String many = "{\"a\":[0" + ",0".repeat(99_998) + "]}";
    assertThatCode(() -> parse(many)).doesNotThrowAnyException();
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> parse(many.replace("]", ",0]")))
        .withMessageEndingWith("there are more than 100000 values in it");
  }

  @Test
  void bytesAreTextOrBase64AndNotBoth() {
    assertThat(parse("{\"c\":{\"text\":\"é\"}}").bytes("c").orElseThrow())
        .isEqualTo("é".getBytes(StandardCharsets.UTF_8));
    assertThat(parse("{\"c\":{\"base64\":\"AP8=\"}}").bytes("c").orElseThrow())
        .containsExactly(0, 0xff);
    for (String bad :
        new String[] {"{}", "{\"text\":\"a\",\"base64\":\"\"}", "{\"base64\":\"?\"}"}) {
      assertThatExceptionOfType(Problem.class)
          .isThrownBy(() -> parse("{\"c\":" + bad + "}").bytes("c"));
    }
  }

  @Test
  void textThatIsNotUtf8IsRefused() {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> Fields.parse(new byte[] {'{', '"', (byte) 0xff, '"', ':', '1', '}'}))
        .withMessage("the body is not UTF-8");
  }
}
