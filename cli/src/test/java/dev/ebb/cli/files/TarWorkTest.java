package dev.ebb.cli.files;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.ebb.testkit.WorkPerByte;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The time to read a tar of a box is bounded by its length. */
class TarWorkTest {
  private static String repeat(String part, int size) {
    return part.repeat(size / part.length());
  }

  private static byte[] header(char type, int size) {
    byte[] block = new byte[512];
    put(block, 0, "name");
    put(block, 100, "0000644\0");
    put(block, 124, "%011o\0".formatted(size));
    put(block, 136, "00000000000\0");
    put(block, 148, "        ");
    block[156] = (byte) type;
    put(block, 257, "ustar\00000");
    int sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    put(block, 148, "%06o\0 ".formatted(sum));
    return block;
  }

  private static void put(byte[] block, int at, String text) {
    byte[] bytes = text.getBytes(UTF_8);
    System.arraycopy(bytes, 0, block, at, bytes.length);
  }

  private static void read(byte[] tar) throws Exception {
    var reader = new TarReader(new ByteArrayInputStream(tar));
    while (reader.next().isPresent()) {}
  }

  @Test
  void manyMembersCostTheirLength() {
    for (char type : new char[] {'0', 'x', 'g', 'L', 'K', '5', 'Z'}) {
      WorkPerByte.assertBounded(
          "members of type " + type,
          512 * 1024,
          n -> {
            var out = new ByteArrayOutputStream();
            for (int i = 0; i < n / 512; i++) {
              out.writeBytes(header(type, 0));
            }
            return out.toByteArray();
          },
          TarWorkTest::read);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"\n", " ", "=", "9 a=b\n", "9 path=b\n", "0", "a"})
  void anExtendedHeaderCostsItsLength(String part) {
    WorkPerByte.assertBounded(
        part,
        60 * 1024,
        n -> {
          var out = new ByteArrayOutputStream();
          byte[] content = repeat(part, n / 512 * 512).getBytes(UTF_8);
          out.writeBytes(header('x', content.length));
          out.writeBytes(content);
          out.writeBytes(new byte[(512 - content.length % 512) % 512]);
          out.writeBytes(header('0', 0));
          return out.toByteArray();
        },
        TarWorkTest::read);
  }
}
