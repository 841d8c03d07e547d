package dev.ebb.cli.front;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.cli.output.ExitCode;
import dev.ebb.testkit.TestHost;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class FrontProtocolTest {
  private static final Pattern KIND = Pattern.compile("#define (\\w+) '(.)'");
  private static final Pattern NUMBER = Pattern.compile("#define (\\w+) \\(?([0-9 *]+)\\)?");

  private static String header() throws Exception {
    return Files.readString(TestHost.root().resolve("init/front/front.h"));
  }

  /** Returns the constants of the class that are of this type. */
  private static Map<String, Object> constants(Class<?> type) throws Exception {
    var constants = new HashMap<String, Object>();
    for (Field field : FrontProtocol.class.getDeclaredFields()) {
      if (field.getType() == type) {
        constants.put(field.getName(), field.get(null));
      }
    }
    return constants;
  }

  private static int product(String text) {
    int product = 1;
    for (String factor : text.strip().split(" \\* ")) {
      product *= Integer.parseInt(factor);
    }
    return product;
  }

  @Test
  void bothSidesHaveTheSameKindsOfMessages() throws Exception {
    var kinds = new HashMap<String, Object>();
    for (MatchResult define : KIND.matcher(header()).results().toList()) {
      kinds.put(define.group(1), define.group(2).charAt(0));
    }
    assertThat(kinds).isEqualTo(constants(char.class)).hasSizeGreaterThan(15);
    assertThat(kinds.values()).doesNotHaveDuplicates();
  }

  @Test
  void bothSidesHaveTheSameSizesAndExitCodes() throws Exception {
    var numbers = new HashMap<String, Object>();
    for (MatchResult define : NUMBER.matcher(header()).results().toList()) {
      numbers.put(define.group(1), product(define.group(2)));
    }
    assertThat(numbers.remove("FRONT_FAILURE")).isEqualTo(ExitCode.OWN_FAILURE);
    assertThat(numbers.remove("FRONT_SIGNALLED")).isEqualTo(ExitCode.SIGNALLED);
    assertThat(numbers).isEqualTo(constants(int.class)).hasSize(3);
  }
}
