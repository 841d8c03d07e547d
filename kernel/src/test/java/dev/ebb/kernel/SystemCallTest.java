package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The numbers of both architectures, by the kernel's own headers. */
class SystemCallTest {
  @Test
  void theNumbersOfX86AreThoseOfItsHeader() throws IOException {
    Path header = Path.of("/usr/include/x86_64-linux-gnu/asm/unistd_64.h");
    Assumptions.assumeTrue(Files.exists(header), "host lacks the headers of x86_64");
    var numbers = CHeader.numbers(header);
    for (SystemCall call : SystemCall.values()) {
      assertThat(call.x86).as(call.name()).isEqualTo(number(numbers, call));
    }
  }

  /** arm64 uses the generic table. */
  @Test
  void theNumbersOfArmAreThoseOfTheGenericHeader() throws IOException {
    var numbers = CHeader.numbers(Path.of("/usr/include/asm-generic/unistd.h"));
    for (SystemCall call : SystemCall.values()) {
      assertThat(call.arm).as(call.name()).isEqualTo(number(numbers, call));
    }
  }

  private static int number(Map<String, Integer> numbers, SystemCall call) {
    String name = call.name().toLowerCase(Locale.ROOT);
    return numbers.getOrDefault("__NR_" + name, numbers.getOrDefault("__NR3264_" + name, -1));
  }
}
