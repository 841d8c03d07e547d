package dev.ebb.acceptance;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.ebb.testkit.Feature;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A name server of the loopback: names that begin with {@code quick} lead to 127.0.0.1, other names
 * get no answer, so that each look-up of one takes as long as the resolver waits.
 */
final class NameServer implements AutoCloseable {
  static final String ADDRESS = "127.53.53.53";
  private static final int HEAD = 12;
  private static final short ANSWERED = (short) 0x8180;
  private static final short OF_ADDRESS = 1;

  private final DatagramSocket socket;
  private final Thread thread;

  NameServer() throws IOException {
    socket = new DatagramSocket(null);
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(InetAddress.ofLiteral(ADDRESS), 53));
    thread = Thread.ofPlatform().name("names").start(this::serve);
  }

  /** Before the command of a daemon: it has mounts of its own, and knows this server alone. */
  static List<String> prefix() {
    TestHost.require(Feature.ROOT);
    String command =
        "mount -t tmpfs none /mnt && echo nameserver "
            + ADDRESS
            + " >/mnt/resolv.conf && mount --bind /mnt/resolv.conf /etc/resolv.conf"
            + " && umount -l /mnt && exec \"$@\"";
    return List.of("unshare", "--mount", "--propagation", "private", "sh", "-c", command, "sh");
  }

  /** Skips where other sources of names come before this server. */
  static void requireGlibc() throws IOException {
    boolean isOwn =
        Files.readAllLines(Path.of("/etc/nsswitch.conf")).stream()
            .anyMatch(line -> line.matches("hosts:\\s+files\\s+dns\\s*"));
    assumeTrue(isOwn, "host lacks a resolver without detours");
  }

  private void serve() {
    var packet = new DatagramPacket(new byte[512], 512);
    while (!socket.isClosed()) {
      try {
        packet.setLength(512);
        socket.receive(packet);
        answer(packet);
      } catch (IOException e) {
        if (!socket.isClosed()) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  private void answer(DatagramPacket asked) throws IOException {
    byte[] data = asked.getData();
    String first = new String(data, HEAD + 1, data[HEAD], StandardCharsets.US_ASCII);
    if (!first.startsWith("quick")) {
      return;
    }
    int end = HEAD;
    while (data[end] != 0) {
      end += data[end] + 1;
    }
    end += 5; // the type and the class of what is asked
    boolean hasAddress = ByteBuffer.wrap(data).getShort(end - 4) == OF_ADDRESS;
    var answer = ByteBuffer.allocate(512).put(data, 0, end);
    answer.putShort(2, ANSWERED).putShort(6, (short) (hasAddress ? 1 : 0));
    answer.putShort(8, (short) 0).putShort(10, (short) 0);
    if (hasAddress) {
      answer.putShort((short) (0xc000 | HEAD)).putShort(OF_ADDRESS).putShort((short) 1);
      answer.putInt(60).putShort((short) 4).put(new byte[] {127, 0, 0, 1});
    }
    socket.send(new DatagramPacket(answer.array(), answer.position(), asked.getSocketAddress()));
  }

  @Override
  public void close() {
    socket.close();
    join(thread);
  }

  /** Waits for a thread that is about to end; an interrupt ends the wait, and is kept. */
  static void join(Thread ending) {
    try {
      ending.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
