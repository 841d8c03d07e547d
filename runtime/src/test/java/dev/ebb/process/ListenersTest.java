package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;

class ListenersTest {
  private static final int SELF = (int) ProcessHandle.current().pid();

  @Test
  void addressesAreThoseOfTheKernel() {
    assertThat(Listeners.parse("tcp", "0100007F:1F90", 7)).hasToString("tcp 127.0.0.1:8080");
    assertThat(Listeners.parse("udp6", "00000000000000000000000001000000:0035", 7))
        .hasToString("udp6 [0:0:0:0:0:0:0:1]:53");
  }

  @Test
  void onlyListeningSocketsAreListed() throws Exception {
    try (var tcp = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var udp = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
      var ours = Listeners.sockets(List.of(SELF));
      assertThat(Listeners.of(SELF, ours::contains, 1000))
          .extracting(Listeners.Listener::port)
          .contains(tcp.getLocalPort(), udp.getLocalPort());
      assertThat(Listeners.of(SELF, _ -> false, 1000)).isEmpty();
      assertThat(Listeners.of(SELF, ours::contains, 1)).hasSize(1);
    }
  }

  @Test
  void aGoneProcessHasNoListeners() throws Exception {
    assertThat(Listeners.of(Integer.MAX_VALUE, _ -> true, 1000)).isEmpty();
    assertThat(Listeners.sockets(List.of(Integer.MAX_VALUE))).isEmpty();
  }
}
