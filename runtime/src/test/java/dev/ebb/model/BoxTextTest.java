package dev.ebb.model;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class BoxTextTest {
  private static String decode(byte[] bytes) {
    return BoxText.decode(bytes, 0, bytes.length);
  }

  @Test
  void utf8IsItself() {
    String text = "a/ü/€/😀\n";
    assertThat(BoxText.encode(text)).isEqualTo(text.getBytes(UTF_8));
    assertThat(decode(text.getBytes(UTF_8))).isEqualTo(text);
  }

  @Test
  void aByteThatIsNoneIsALoneSurrogate() {
    byte[] bytes = {'a', (byte) 0xFF, (byte) 0xE2, (byte) 0x82, 'b', (byte) 0xC3};
    assertThat(decode(bytes)).isEqualTo("a\uDCFF\uDCE2\uDC82b\uDCC3");
    assertThat(BoxText.encode(decode(bytes))).isEqualTo(bytes);
  }

  @Test
  void anyBytesSurvive() {
    var dice = new Random(7);
    for (int i = 0; i < 2000; i++) {
      byte[] bytes = new byte[dice.nextInt(20)];
      dice.nextBytes(bytes);
      assertThat(BoxText.encode(decode(bytes))).isEqualTo(bytes);
    }
  }

  @Test
  void aPartIsRead() {
    assertThat(BoxText.decode("abcdef".getBytes(UTF_8), 2, 4)).isEqualTo("cd");
  }
}
