package dev.ebb.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import org.junit.jupiter.api.Test;

class ErrnoTest {
  @Test
  void theNumbersAreThoseOfTheKernelsHeaders() throws IOException {
    var defined = new HashMap<String, Integer>();
    for (String header : new String[] {"errno-base.h", "errno.h"}) {
      defined.putAll(CHeader.numbers(Path.of("/usr/include/asm-generic", header)));
    }
    for (Errno errno : Errno.values()) {
      if (errno != Errno.OTHER) {
        assertThat(errno.number()).as(errno.name()).isEqualTo(defined.get(errno.name()));
        assertThat(Errno.of(errno.number())).isEqualTo(errno);
      }
    }
  }

  @Test
  void anUnlistedNumberKeepsItsNumber() {
    assertThat(Errno.of(4242)).isEqualTo(Errno.OTHER);
    var failure = new KernelException("do it", 4242);
    assertThat(failure).hasMessage("cannot do it: errno 4242");
    assertThat(failure.is(Errno.EPERM)).isFalse();
  }
}
