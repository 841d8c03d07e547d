package dev.ebb.code;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.code.Frames.Kind;
import dev.ebb.model.Glob;
import dev.ebb.model.Language;
import dev.ebb.testkit.WorkPerByte;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Readers of names, lines and frames that a box chose do bounded work for each byte. */
class CodeWorkTest {
  @ParameterizedTest
  @ValueSource(strings = {"*a", "**a", "?", "{a,aa}*", "a*{,a}"})
  void aGlobCostsTheLengthOfThePath(String part) {
    Glob glob = Glob.parse(part.repeat(Math.min(5, 200 / part.length())) + "b");
    WorkPerByte.assertBounded(part, 8 * 1024, n -> "a".repeat(n), glob::matches);
  }

  @Test
  void choicesOfAGlobDoNotMultiplyTheWork() {
    Glob one = Glob.parse("*a".repeat(40) + "b");
    Glob many = Glob.parse("*a".repeat(40) + "{a,b}".repeat(6) + "b");
    String path = "a".repeat(3_000);
    long least = WorkPerByte.least("one", path, one::matches);
    assertThat(WorkPerByte.least("many", path, many::matches)).isLessThan(8 * least);
  }

  @Test
  void lastWordsCostTheirLength() {
    List<Language> all = Languages.ofHost().all();
    for (String part : new String[] {"main.rb:1: ", "a error: ", "ERROR: ", " "}) {
      WorkPerByte.assertBounded(
          part,
          64 * 1024,
          n -> part.repeat(n / part.length()),
          text -> all.forEach(language -> language.isInvalid(text)));
    }
  }

  @Test
  void framesCostTheirLength() {
    String[] parts = {"0123456789abcdef ready 0\n", "0123456789abcdef form 30000\n", "x", "\n"};
    for (String part : parts) {
      for (int piece : new int[] {1, 64 * 1024}) {
        WorkPerByte.assertBounded(
            part,
            64 * 1024,
            n -> part.repeat(n / part.length()).getBytes(ISO_8859_1),
            bytes -> take(bytes, piece));
      }
    }
  }

  private static void take(byte[] bytes, int piece) {
    var frames =
        new Frames(
            new Frames.Listener() {
              @Override
              public @Nullable String opens(String nonce, Kind kind) {
                return null;
              }

              @Override
              public boolean wants(Kind kind, int size) {
                return true;
              }

              @Override
              public @Nullable String received(Kind kind, byte @Nullable [] body) {
                return null;
              }
            });
    for (int i = 0; i < bytes.length; i += piece) {
      byte[] part = Arrays.copyOfRange(bytes, i, Math.min(bytes.length, i + piece));
      if (frames.take(part, part.length) != null) {
        return;
      }
    }
  }
}
