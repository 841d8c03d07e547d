package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GlobTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a.txt | a.txt",
        "*.txt | a.txt",
        "*.txt | .txt",
        "?.txt | ü.txt",
        "out/*.csv | out/a.csv",
        "**/*.csv | out/deep/a.csv",
        "** | out/deep/a.csv",
        "out/** | out/deep/a.csv",
        "*.{txt,png} | plot.png",
        "{a,b}/{c,d} | b/c",
        "a*b*c | aXbbXcc",
        "a{,b} | a",
      })
  void meansThese(String glob, String path) {
    assertThat(Glob.parse(glob).matches(path)).isTrue();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "*.txt | out/a.txt",
        "?.txt | ab.txt",
        "? | /",
        "a | ab",
        "ab | a",
        "**/*.csv | a.csv",
        "*.{txt,png} | a.{txt,png}",
        "a*b*c | aXbX",
        ". | a",
      })
  void doesNotMeanThese(String glob, String path) {
    assertThat(Glob.parse(glob).matches(path)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "[a]", "a\\b", "{", "}", "}{", "{a{b}}", "{a}}", "{,,,}{,,,}{,,,}{,,,}"})
  void refusesWhatMeansNothing(String text) {
    assertThatThrownBy(() -> Glob.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("glob");
    assertThatThrownBy(() -> Glob.parse("x".repeat(257))).hasMessageContaining("256");
  }

  @Test
  void hostileOnesTakeNoTime() {
    Glob glob = Glob.parse("*a".repeat(127) + "b");
    String name = "a".repeat(4_000);
    Assertions.assertTimeoutPreemptively(
        Duration.ofSeconds(20), () -> assertThat(glob.matches(name)).isFalse());
  }
}
