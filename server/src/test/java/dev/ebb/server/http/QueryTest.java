package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.model.BoxText;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QueryTest {
  @Test
  void parametersAreDecodedAsFormsHaveThem() {
    Query query =
        Query.parse("path=%2Fa+b%2Bc&label=x%3Dy&label=z&&flag", Set.of("path", "label", "flag"));
    assertThat(query.all("path")).containsExactly("/a b+c");
    assertThat(query.all("label")).containsExactly("x=y", "z");
    assertThat(query.all("flag")).containsExactly("");
    assertThat(query.all("none")).isEmpty();
  }

  @Test
  void anyByteSurvives() {
    String name = Query.parse("path=%ff%0a%c3%a9", Set.of("path")).all("path").getFirst();
    assertThat(BoxText.encode(name)).containsExactly(0xff, 0x0a, 0xc3, 0xa9);
  }

  @Test
  void anUnknownParameterIsRefused() {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> Query.parse("b=1", Set.of("a", "c")))
        .withMessage("unknown query \"b\"; known here: a, c");
  }

  @ParameterizedTest
  @ValueSource(strings = {"a=%", "a=%4", "a=%zz", "a=%4g"})
  void badEncodingIsRefused(String text) {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> Query.parse(text, Set.of("a")))
        .withMessageContaining("is not encoded well");
  }
}
