package dev.ebb.cli.files;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CopyPathTest {
  @ParameterizedTest
  @CsvSource({
    "b1:/etc/hosts, b1, /etc/hosts",
    "mine:out/log, mine, out/log",
    "mine:, mine, .",
    "mine:a:b, mine, a:b",
  })
  void whatHasAColonBeforeItsFirstSlashIsInABox(String text, String box, String path) {
    CopyPath parsed = CopyPath.parse(text);

    assertThat(parsed.box()).contains(box);
    assertThat(parsed.path()).isEqualTo(path);
  }

  @ParameterizedTest
  @CsvSource({"/tmp/a:b", "./a:b", "../x:y", "a/b:c", "plain", ":odd", "-"})
  void allElseIsOnTheHost(String text) {
    CopyPath parsed = CopyPath.parse(text);

    assertThat(parsed.isHost()).isTrue();
    assertThat(parsed.path()).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "b:/a/dir, dir, /a/dir/x, false, false",
    "b:/a/dir/, dir, /a/dir/x, true, false",
    "b:/a/dir/., ., /a/dir/./x, true, true",
    "b:, ., ./x, true, true",
    "b:/, '', /x, true, false",
  })
  void endsSayWhatIsMeant(
      String text, String name, String below, boolean directory, boolean content) {
    CopyPath parsed = CopyPath.parse(text);

    assertThat(parsed.name()).isEqualTo(name);
    assertThat(parsed.below("x")).isEqualTo(below);
    assertThat(parsed.meansDirectory()).isEqualTo(directory);
    assertThat(parsed.meansContent()).isEqualTo(content);
  }
}
