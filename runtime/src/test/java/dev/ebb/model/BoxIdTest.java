package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BoxIdTest {
  @Test
  void randomOnesAreValidAndDiffer() throws Exception {
    var ids = new HashSet<BoxId>();
    for (int i = 0; i < 100; i++) {
      assertThat(ids.add(BoxId.random())).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-a", "A", "a/b", "..", "a b", "a\n", "ü"})
  void anIdThatIsNoDirectoryNameIsRefused(String text) {
    assertThatThrownBy(() -> new BoxId(text))
        .hasMessage(
            "bad box id \"" + text + "\": use up to 63 of a-z, 0-9 and -, not starting with -");
  }

  @Test
  void sixtyThreeCharactersAreTheMost() {
    assertThat(new BoxId("a".repeat(63))).hasToString("a".repeat(63));
    assertThatThrownBy(() -> new BoxId("a".repeat(64))).isInstanceOf(RuntimeException.class);
  }
}
