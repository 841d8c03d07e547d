package dev.ebb.server.http;

import dev.ebb.testkit.WorkPerByte;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A body and a query cost their length, whatever a client sends. */
class ParserWorkTest {
  private static String repeat(String part, int size) {
    return part.repeat(size / part.length());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a",
        " ",
        "\\",
        "\\\"",
        "\\u00e9",
        "1",
        "[",
        "{",
        "1,",
        "\"a\":1,",
        "\ud83d\ude00"
      })
  void aJsonTextCostsItsLength(String part) {
    for (String frame : new String[] {"%s", "{\"a\":%s", "{\"a\":[%s", "{\"a\":\"%s\"}", "{%s"}) {
      WorkPerByte.assertBounded(
          frame.replace("%s", part),
          64 * 1024,
          n -> frame.replace("%s", repeat(part, n)),
          text -> JsonInput.object(text.getBytes(StandardCharsets.UTF_8)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "&", "=", "%", "%41", "+", "a=b&", "&a", "%ff", "\u00e9"})
  void aQueryCostsItsLength(String part) {
    WorkPerByte.assertBounded(
        part,
        64 * 1024,
        n -> repeat(part, n),
        text -> {
          Query.decode(text);
          Query.parse(text, Set.of("a", ""));
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {"a=b&", "a=%41&", "a&"})
  void manyParametersCostTheirLength(String part) {
    WorkPerByte.assertBounded(
        part, 64 * 1024, n -> repeat(part, n), text -> Query.parse(text, Set.of("a")));
  }
}
