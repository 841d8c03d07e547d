package dev.ebb.json;

import dev.ebb.testkit.WorkPerByte;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The time to read a text is bounded by its length. */
class ReaderWorkTest {
  private static String repeat(String part, int size) {
    return part.repeat(size / part.length());
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", " ", "\\", "\\\"", "\\u00e9", "1", "[", "{", "1,", "\"a\":1,"})
  void aJsonTextCostsItsLength(String part) {
    for (String frame : new String[] {"%s", "[%s", "{\"a\":\"%s\"}", "{%s", "0.%s"}) {
      WorkPerByte.assertBounded(
          frame.replace("%s", part),
          64 * 1024,
          n -> frame.replace("%s", repeat(part, n)),
          (String text) -> Json.read(text));
    }
  }
}
