package dev.ebb.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  @Test
  void everyKindOfValueIsRead() throws JsonException {
    var object =
        Json.readObject(
            " {\"s\": \"a\\u00e9\\n\\ud83d\\ude00\", \"l\": [1, -2.5e3, true, false, null, {}],\t\"n\":9}\r\n");

    assertThat(object.string("s")).isEqualTo("aé\n😀");
    assertThat(object.members().get("l"))
        .isEqualTo(List.of(1L, -2500.0, true, false, JsonNull.NULL, JsonObject.empty()));
    assertThat(object.number("n")).isEqualTo(9);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "[1,]                 | bad JSON at 3: expected a value, found ']'",
        "{\"a\":1,}           | bad JSON at 7: expected a name, found '}'",
        "{\"a\" 1}            | bad JSON at 5: expected ':', found '1'",
        "{\"a\":1,\"a\":2}    | bad JSON at 7: the name \"a\" comes twice",
        "[1 2]                | bad JSON at 3: expected ']', found '2'",
        "01                   | bad JSON at 1: expected the end, found '1'",
        "1.                   | bad JSON at 2: expected a value, found the end",
        "+1                   | bad JSON at 0: expected a value, found '+'",
        "1e999                | bad JSON at 0: the number is too large",
        "NaN                  | bad JSON at 0: expected a value, found 'N'",
        "tru                  | bad JSON at 0: expected true",
        "\"a                  | bad JSON at 0: the string does not end",
        "\"\\x\"              | bad JSON at 2: no such escape",
        "\"\\u12g4\"          | bad JSON at 5: expected four hex digits",
        "\"\\ud800\"          | bad JSON at 0: half a surrogate pair in a string",
        "\"\\ude00\\ud83d\"   | bad JSON at 0: half a surrogate pair in a string",
        "{} x                 | bad JSON at 3: expected the end, found 'x'",
        "{1:2}                | bad JSON at 1: expected a name, found '1'",
        "``                   | bad JSON at 0: expected a value, found the end",
      })
  void anErrorNamesItsPlace(String text, String message) {
    assertThatThrownBy(() -> Json.read(text)).isInstanceOf(JsonException.class).hasMessage(message);
  }

  @Test
  void aControlCharacterInAStringIsRefused() {
    assertThatThrownBy(() -> Json.read("\"a\nb\"")).hasMessageContaining("at 2: a control");
  }

  @Test
  void depthHasALimit() throws JsonException {
    int limit = JsonReader.MAX_DEPTH;
    assertThat(Json.read("[".repeat(limit) + "]".repeat(limit))).isNotNull();
    assertThatThrownBy(() -> Json.read("[".repeat(1_000_000)))
        .hasMessageContaining("nested deeper");
  }

  @Test
  void bytesThatAreNotUtf8AreRefused() {
    assertThatThrownBy(() -> Json.read(new byte[] {'"', (byte) 0xc3, '"'}))
        .hasMessage("bad JSON: not UTF-8");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MAX_VALUE, Long.MIN_VALUE})
  void wholeNumbersKeepEveryDigit(long number) throws JsonException {
    assertThat(Json.read(Long.toString(number))).isEqualTo(number);
  }

  @Test
  void aWholeNumberBeyondSixtyFourBitsIsADouble() throws JsonException {
    assertThat(Json.read("9223372036854775808")).isEqualTo(0x1p63);
  }

  @Test
  void aMemberOfAnotherTypeIsNamed() throws JsonException {
    var object = Json.readObject("{\"a\": \"x\", \"b\": 5000000000, \"c\": [1, \"y\"]}");

    assertThatThrownBy(() -> object.number("a"))
        .hasMessage("field \"a\" holds a string where a whole number belongs");
    assertThatThrownBy(() -> object.integer("b")).hasMessageContaining("too large");
    assertThatThrownBy(() -> object.numbers("c")).hasMessageContaining("holds a string");
    assertThatThrownBy(() -> object.string("d")).hasMessage("field \"d\" is missing");
    assertThat(object.stringOrNull("d")).isNull();
  }

  @Test
  void aValueWithoutAJsonFormIsNotWritten() {
    assertThatThrownBy(() -> Json.write("\ud800"))
        .hasMessage("half a surrogate pair at 0 of a string");
    assertThatThrownBy(() -> Json.write(Double.NaN)).hasMessage("JSON has no NaN");
  }

  @Test
  void forPeopleItIsIndented() {
    var object = JsonObject.empty().with("a", 1L).with("b", List.of("x")).with("c", List.of());

    assertThat(Json.indent(object))
        .isEqualTo("{\n  \"a\": 1,\n  \"b\": [\n    \"x\"\n  ],\n  \"c\": []\n}");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void aWrittenValueIsReadBack(int seed) throws JsonException {
    var random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      Object value = value(random, 0);

      assertThat(Json.read(Json.write(value))).as("seed %d, round %d", seed, i).isEqualTo(value);
      assertThat(Json.read(Json.indent(value).getBytes(StandardCharsets.UTF_8))).isEqualTo(value);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void damagedTextIsRefusedOrReadButNothingElse(int seed) {
    var random = new Random(seed);
    for (int i = 0; i < 500; i++) {
      var text = new StringBuilder(Json.write(value(random, 0)));
      text.setCharAt(random.nextInt(text.length()), (char) (random.nextInt(96) + 32));
      try {
        assertThat(Json.read(text.toString())).isNotNull();
      } catch (JsonException e) {
        assertThat(e).hasMessageContaining("bad JSON");
      }
    }
  }

  private static Object value(Random random, int depth) {
    return switch (random.nextInt(depth > 4 ? 5 : 7)) {
      case 0 -> random.nextLong();
      case 1 -> random.nextDouble() * Math.pow(10, random.nextInt(40) - 20);
      case 2 -> random.nextBoolean();
      case 3 -> JsonNull.NULL;
      case 4 -> string(random);
      case 5 -> {
        var list = new ArrayList<>();
        for (int i = random.nextInt(5); i > 0; i--) {
          list.add(value(random, depth + 1));
        }
        yield list;
      }
      default -> {
        var members = new LinkedHashMap<String, Object>();
        for (int i = random.nextInt(5); i > 0; i--) {
          members.put(string(random), value(random, depth + 1));
        }
        yield new JsonObject(members);
      }
    };
  }

  private static String string(Random random) {
    var string = new StringBuilder();
    for (int i = random.nextInt(12); i > 0; i--) {
      int point = random.nextInt(random.nextBoolean() ? 128 : Character.MAX_CODE_POINT + 1);
      boolean surrogate = point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE;
      string.appendCodePoint(surrogate ? ' ' : point);
    }
    return string.toString();
  }
}
