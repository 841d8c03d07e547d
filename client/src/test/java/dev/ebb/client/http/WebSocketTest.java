package dev.ebb.client.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class WebSocketTest {
  private static final Pattern KEY = Pattern.compile("Sec-WebSocket-Key: (\\S+)");
  private static final Request REQUEST = Request.of("GET", Target.of("terminal"));

  private static void accept(FakeServer.Peer peer) throws IOException {
    var key = KEY.matcher(peer.head());
    assertThat(key.find()).isTrue();
    switchTo(peer, WebSocketHandshake.accept(key.group(1)));
  }

  private static void switchTo(FakeServer.Peer peer, String accepted) throws IOException {
    String head = "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    peer.send(head + "Sec-WebSocket-Accept: " + accepted + "\r\n\r\n");
  }

  private static byte[] frame(int first, byte[] payload) {
    ByteBuffer frame = ByteBuffer.allocate(payload.length + 10).put((byte) first);
    if (payload.length < 126) {
      frame.put((byte) payload.length);
    } else if (payload.length < 65536) {
      frame.put((byte) 126).putShort((short) payload.length);
    } else {
      frame.put((byte) 127).putLong(payload.length);
    }
    frame.put(payload).flip();
    byte[] bytes = new byte[frame.remaining()];
    frame.get(bytes);
    return bytes;
  }

  /** The payload of a frame of the client, which must be masked. */
  private static byte[] receive(FakeServer.Peer peer, int first) throws IOException {
    assertThat(peer.in().read()).isEqualTo(first);
    int second = peer.in().read();
    assertThat(second & 0x80).isEqualTo(0x80);
    long length = second & 0x7f;
    if (length == 126) {
      length = ByteBuffer.wrap(peer.in().readNBytes(2)).getShort() & 0xffff;
    } else if (length == 127) {
      length = ByteBuffer.wrap(peer.in().readNBytes(8)).getLong();
    }
    byte[] mask = peer.in().readNBytes(4);
    byte[] payload = peer.in().readNBytes((int) length);
    for (int i = 0; i < payload.length; i++) {
      payload[i] ^= mask[i % 4];
    }
    return payload;
  }

  private static WebSocket open(HttpTransport transport) throws IOException {
    return requireNonNull(transport.upgrade(REQUEST).socket());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 125, 126, 65535, 65536, 1_000_000})
  void messagesOfEverySizeTravelBothWays(int size) throws IOException {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    try (var server =
            FakeServer.tcp(
                peer -> {
                  accept(peer);
                  peer.send(frame(0x82, receive(peer, 0x82)));
                  peer.awaitEnd();
                });
        var transport = new HttpTransport(server.endpoint());
        var socket = open(transport)) {
      socket.send(bytes);
      var message = socket.receive().orElseThrow();

      assertThat(message.isText()).isFalse();
      assertThat(message.bytes()).isEqualTo(bytes);
    }
  }

  @Test
  void fragmentsAreJoinedAndAPingBetweenThemIsAnswered() throws Exception {
    var pong = new CompletableFuture<String>();
    try (var server =
            FakeServer.tcp(
                peer -> {
                  accept(peer);
                  peer.send(frame(0x01, "gr".getBytes(UTF_8)));
                  peer.send(frame(0x89, "you there?".getBytes(UTF_8)));
                  peer.send(frame(0x00, new byte[] {(byte) 0xc3}));
                  peer.send(frame(0x80, new byte[] {(byte) 0xbc, 'n'}));
                  pong.complete(new String(receive(peer, 0x8a), UTF_8));
                });
        var transport = new HttpTransport(server.endpoint());
        var socket = open(transport)) {
      var message = socket.receive().orElseThrow();

      assertThat(message.isText()).isTrue();
      assertThat(message.text()).isEqualTo("grün");
      assertThat(pong.get(10, TimeUnit.SECONDS)).isEqualTo("you there?");
    }
  }

  @Test
  void aGoodbyeIsAnsweredAndEndsTheReading() throws Exception {
    var answer = new CompletableFuture<byte[]>();
    try (var server =
            FakeServer.tcp(
                peer -> {
                  accept(peer);
                  peer.send(frame(0x88, new byte[] {3, (byte) 0xe8}));
                  answer.complete(receive(peer, 0x88));
                });
        var transport = new HttpTransport(server.endpoint());
        var socket = open(transport)) {
      assertThat(socket.receive()).isEmpty();
      assertThat(answer.get(10, TimeUnit.SECONDS)).isEqualTo(new byte[] {3, (byte) 0xe8});
      assertThatThrownBy(() -> socket.send("late")).hasMessage("the WebSocket is closed");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "8280, a masked frame",
    "c200, a frame of an unknown kind",
    "8300, a frame of an unknown kind",
    "8b00, a frame of an unknown kind",
    "0900, a bad control frame",
    "897e0080, a bad control frame",
    "8000, fragments out of order",
    "01000100, fragments out of order",
    "8101c3, a text that is not UTF-8",
    "827f0000000001000001, a message of more than",
    "827fffffffffffffffff, a message of more than",
  })
  void aMalformedFrameIsNamed(String hex, String problem) throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  accept(peer);
                  peer.send(HexFormat.of().parseHex(hex));
                  peer.awaitEnd();
                });
        var transport = new HttpTransport(server.endpoint());
        var socket = open(transport)) {
      assertThatThrownBy(socket::receive)
          .isInstanceOf(ProtocolException.class)
          .hasMessageContaining(problem);
    }
  }

  @Test
  void aSilentEndIsNoGoodbye() throws IOException {
    try (var server = FakeServer.tcp(WebSocketTest::accept);
        var transport = new HttpTransport(server.endpoint());
        var socket = open(transport)) {
      assertThatThrownBy(socket::receive)
          .isInstanceOf(EOFException.class)
          .hasMessageContaining("without closing the WebSocket");
    }
  }

  @Test
  void aHandshakeForAnotherKeyIsRefused() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  peer.head();
                  switchTo(peer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
                });
        var transport = new HttpTransport(server.endpoint())) {
      assertThatThrownBy(() -> transport.upgrade(REQUEST))
          .isInstanceOf(ProtocolException.class)
          .hasMessageContaining("a bad WebSocket handshake");
    }
  }

  @Test
  void theAnswerOfAServerWithoutWebSocketsIsReturned() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  peer.head();
                  peer.answer(404, "none here");
                });
        var transport = new HttpTransport(server.endpoint())) {
      var upgrade = transport.upgrade(REQUEST);

      assertThat(upgrade.socket()).isNull();
      assertThat(requireNonNull(upgrade.refusal()).status()).isEqualTo(404);
    }
  }

  @Test
  void theAnswerToAKeyIsTheOneOfTheSpecification() {
    assertThat(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ=="))
        .isEqualTo("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  }
}
