package dev.ebb.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ByteSizeTest {
  @ParameterizedTest
  @CsvSource({
    "0,0",
    "1,1",
    "1023,1023",
    "64k,65536",
    "64K,65536",
    "64kb,65536",
    "64KiB,65536",
    "512m,536870912",
    "2g,2147483648",
    "1t,1099511627776",
    "8b,8"
  })
  void sizesAreReadInAnyUsualForm(String text, long bytes) {
    assertThat(ByteSize.parse(text).bytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "m", "-1", "1.5g", "1x", "1 g", "1gg", "0x10", "١"})
  void anythingElseIsRefusedWithWhatWasWritten(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("bad size \"" + text + "\": ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"9999999999t", "99999999999999999k"})
  void aSizeThatDoesNotFitALongIsTooLarge(String text) {
    assertThatThrownBy(() -> ByteSize.parse(text))
        .hasMessage("bad size \"" + text + "\": too large");
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 1023, 1024, 1536, 1 << 20, 3L << 30, 1L << 50, Long.MAX_VALUE})
  void aSizeIsPrintedAsItIsParsed(long bytes) {
    var size = new ByteSize(bytes);
    if (bytes < 1_000_000_000_000_000_000L) {
      assertThat(ByteSize.parse(size.toString())).isEqualTo(size);
    }
    assertThat(size.toString()).doesNotEndWith("b");
  }

  @Test
  void aNegativeSizeIsNone() {
    assertThatThrownBy(() -> new ByteSize(-1)).hasMessage("a size cannot be negative: -1");
    assertThat(ByteSize.mebibytes(3).bytes()).isEqualTo(3L << 20);
  }
}
