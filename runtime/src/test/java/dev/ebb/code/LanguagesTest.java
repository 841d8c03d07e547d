package dev.ebb.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.Language;
import dev.ebb.model.SandboxException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LanguagesTest {
  private static final String TEXT =
      """
      # words
      snake
        aliases      s adder
        file         main.s
        run          snake main.s
        version      snake -v
        environment  A=1 B=x=y
        invalid      hiss: .*

      stone
        file     main.st
        compile  chisel main.st
        run      ./main
        version  chisel -v

      stone
        file     main.st
        compile  hammer main.st
        run      ./main
        version  hammer -v
      """;

  private static Languages having(String... tools) {
    return new Languages(
        TEXT, tool -> Optional.of(tool).filter(Set.of(tools)::contains).map(Path::of));
  }

  @Test
  void aLanguageIsFoundByItsNameAndByEachAliasInAnyCase() {
    for (String word : Set.of("snake", "s", "adder", "Snake")) {
      Language language = having("snake").require(word);
      assertThat(language.name()).isEqualTo("snake");
      assertThat(language.environment()).containsEntry("A", "1").containsEntry("B", "x=y");
    }
  }

  @Test
  void theFirstToolsThatTheHostHasAreTaken() {
    assertThat(having("hammer").require("stone").tools()).containsExactly("hammer");
    assertThat(having("hammer", "chisel").require("stone").tools()).containsExactly("chisel");
    assertThat(having().all()).extracting(Language::name).containsExactly("snake", "stone");
  }

  @Test
  void theErrorForAnUnknownLanguageListsTheKnownOnes() {
    assertThatThrownBy(() -> having("snake").require("klingon"))
        .isInstanceOf(SandboxException.class)
        .hasMessage("unknown language \"klingon\"; this host has snake");
  }

  @Test
  void theErrorForALanguageWithoutToolsListsWhatIsMissing() {
    assertThatThrownBy(() -> having("snake").require("stone"))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.UNSUPPORTED))
        .hasMessageContaining("no chisel, which stone needs")
        .hasMessageContaining("snake");
  }

  @Test
  void aLineOnStderrShowsThatCodeIsMalformed() {
    Language snake = having("snake").require("snake");
    assertThat(snake.isInvalid("line 1\nhiss: no\n")).isTrue();
    assertThat(snake.isInvalid("no hiss: it is mine\n")).isFalse();
    assertThat(having("hammer").require("stone").isInvalid("hiss: no")).isFalse();
  }

  @Test
  void theBuiltInLanguagesAreWellFormed() {
    assertThat(Languages.ofHost().all())
        .extracting(Language::name)
        .startsWith("python", "javascript", "bash")
        .contains("typescript", "c", "c++", "java", "go", "rust", "ruby", "perl", "php", "r");
  }
}
