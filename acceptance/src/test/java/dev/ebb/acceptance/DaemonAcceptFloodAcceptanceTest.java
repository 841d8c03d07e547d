package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A flood of connections from several addresses, as fast as the kernel takes them. What is accepted
 * and not open yet is bounded, so however many descriptors there are, the flood takes few of them,
 * and the unix socket is served.
 */
@Timeout(180)
final class DaemonAcceptFloodAcceptanceTest {
  private static final int FLOODERS = 4;
  private static final int CALLS = 15;

  /** Open at a time by each of the flooders. */
  private static final int HELD = 1000;

  private static DaemonProcess daemon(int descriptors) {
    return new DaemonProcess(
        () -> List.of("prlimit", "--nofile=%d:%d".formatted(descriptors, descriptors)), Map.of());
  }

  @Nested
  @LeakChecked
  @Tag("kernel")
  final class With1024Descriptors {
    @RegisterExtension final DaemonProcess daemon = daemon(1024);

    @Test
    void theUnixSocketIsServed() throws Exception {
      requireServed(daemon, 1024 / 2);
    }
  }

  @Nested
  @LeakChecked
  @Tag("kernel")
  final class With20000Descriptors {
    @RegisterExtension final DaemonProcess daemon = daemon(20_000);

    @Test
    void theUnixSocketIsServed() throws Exception {
      requireServed(daemon, 1700);
    }
  }

  /** The daemon's own descriptors, its guests, and those being opened are {@code most}. */
  private static void requireServed(DaemonProcess daemon, int most) throws Exception {
    EbbClient owner = daemon.client();
    var isOver = new AtomicBoolean();
    var highest = new AtomicInteger();
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < FLOODERS; i++) {
      String address = "127.0.1." + (i + 1);
      threads.add(Thread.ofPlatform().start(() -> flood(daemon, address, isOver)));
    }
    threads.add(Thread.ofPlatform().start(() -> watch(daemon, isOver, highest)));
    try {
      for (int i = 0; i < CALLS; i++) {
        var run = owner.runAndRelease(BoxRequest.defaults(), ExecRequest.of("echo", "1"));
        assertThat(run.stdout().text()).isEqualTo("1\n");
        // A connection of its own: the listener is there, not only what was open before.
        try (var fresh = EbbClient.connect(daemon.home().resolve("ebb.sock"))) {
          assertThat(fresh.boxes().list(BoxQuery.all())).isEmpty();
        }
      }
    } finally {
      isOver.set(true);
      for (Thread each : threads) {
        each.join();
      }
    }
    assertThat(highest.get()).as("descriptors of the daemon").isBetween(1, most);
  }

  private static void watch(DaemonProcess daemon, AtomicBoolean isOver, AtomicInteger highest) {
    while (!isOver.get()) {
      try {
        highest.accumulateAndGet(daemon.descriptors(), Math::max);
      } catch (IOException e) {
        return; // it has ended, which the calls show
      }
    }
  }

  private static void flood(DaemonProcess daemon, String address, AtomicBoolean isOver) {
    var open = new ArrayDeque<SocketChannel>();
    while (!isOver.get()) {
      try {
        var channel = SocketChannel.open();
        open.add(channel);
        // Closed by a reset, so that no port waits.
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        channel.bind(new InetSocketAddress(InetAddress.getByName(address), 0));
        channel.configureBlocking(false);
        channel.connect(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), daemon.uri().getPort()));
        closeDownTo(open, HELD);
      } catch (IOException e) {
        // Refused or cut off: the next one.
      }
    }
    closeDownTo(open, 0);
  }

  private static void closeDownTo(ArrayDeque<SocketChannel> open, int most) {
    while (open.size() > most) {
      try {
        open.remove().close();
      } catch (IOException e) {
        // It was reset.
      }
    }
  }
}
