package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.KernelException;
import dev.ebb.testkit.WorkPerByte;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IncomingMessagesTest {
  private static byte[] message(int exec, int size) {
    byte[] bytes = new byte[Protocol.HEADER_SIZE + size];
    Arrays.fill(bytes, (byte) exec);
    ByteBuffer message = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    message.putInt(size).putShort((short) 7).putShort((short) 0).putInt(exec).putInt(0);
    return bytes;
  }

  private static byte[] join(List<byte[]> parts) {
    ByteBuffer all = ByteBuffer.allocate(parts.stream().mapToInt(part -> part.length).sum());
    parts.forEach(all::put);
    return all.array();
  }

  private static void feed(byte[] bytes, int piece, List<IncomingMessages.Message> received)
      throws KernelException {
    var incoming = new IncomingMessages();
    for (int i = 0; i < bytes.length; i += piece) {
      byte[] part = Arrays.copyOfRange(bytes, i, Math.min(bytes.length, i + piece));
      incoming.append(part, part.length);
      for (var next = incoming.next(); next.isPresent(); next = incoming.next()) {
        received.add(next.get());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 12, 13, 1000, 100_000})
  void whateverThePiecesTheMessagesAreThese(int piece) throws KernelException {
    var sent = new ArrayList<byte[]>();
    for (int i = 0; i < 60; i++) {
      sent.add(message(i, i * i));
    }
    var received = new ArrayList<IncomingMessages.Message>();
    feed(join(sent), piece, received);
    assertThat(received).hasSize(60);
    for (int i = 0; i < 60; i++) {
      assertThat(received.get(i).type()).isEqualTo(7);
      assertThat(received.get(i).exec()).isEqualTo(i);
      assertThat(received.get(i).body().remaining()).isEqualTo(i * i);
      assertThat(received.get(i).body().array()).containsOnly(i == 0 ? new byte[0] : bytes(i));
    }
  }

  private static byte[] bytes(int value) {
    return new byte[] {(byte) value};
  }

  @Test
  void aSizeThatMakesNoSenseIsRefused() {
    for (int size : new int[] {-1, Protocol.MESSAGE_MAX + 1}) {
      var incoming = new IncomingMessages();
      byte[] header = new byte[Protocol.HEADER_SIZE];
      ByteBuffer.wrap(header).order(ByteOrder.nativeOrder()).putInt(size);
      incoming.append(header, header.length);
      assertThatThrownBy(incoming::next).isInstanceOf(KernelException.class);
    }
  }

  @Test
  void manySmallMessagesInOnePieceCostTheirLength() {
    WorkPerByte.assertBounded(
        "empty messages",
        512 * 1024,
        n -> {
          byte[][] all = new byte[n / Protocol.HEADER_SIZE][];
          Arrays.fill(all, message(1, 0));
          return join(List.of(all));
        },
        bytes -> feed(bytes, bytes.length, new ArrayList<>()));
  }

  @Test
  void aMessageByteByByteCostsItsLength() {
    WorkPerByte.assertBounded(
        "one message", 256 * 1024, n -> message(1, n), bytes -> feed(bytes, 1, new ArrayList<>()));
  }
}
