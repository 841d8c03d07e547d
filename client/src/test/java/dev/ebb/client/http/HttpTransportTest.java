package dev.ebb.client.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class HttpTransportTest {
  private static final Request GET = Request.of("GET", Target.of("x")).with(Duration.ofSeconds(10));
  private static final Request POST =
      Request.of("POST", Target.of("x"))
          .with(Body.of("text/plain", "body".getBytes(UTF_8)))
          .with(Duration.ofSeconds(10));
  private static final int LIMIT = 1 << 20;

  @TempDir Path directory;

  private static String text(Response response) throws IOException {
    return new String(response.bytes(LIMIT, Duration.ofSeconds(10)), UTF_8);
  }

  private static void serveForEver(FakeServer.Peer peer) throws IOException {
    while (true) {
      peer.answer(200, peer.request().split(" ", 2)[0]);
    }
  }

  /** Answers one request with exactly these bytes, and hangs up. */
  private static FakeServer.Script sending(String answer) {
    return peer -> {
      peer.request();
      peer.send(answer);
    };
  }

  /** Answers one request with exactly these bytes, and waits for the client to hang up. */
  private static FakeServer.Script sendingAndWaiting(String answer) {
    return peer -> {
      sending(answer).serve(peer);
      peer.awaitEnd();
    };
  }

  private static void assertFails(
      FakeServer.Script script, Request request, Class<? extends IOException> type, String problem)
      throws IOException {
    try (var server = FakeServer.tcp(script);
        var transport = new HttpTransport(server.endpoint())) {
      assertThatThrownBy(() -> text(transport.send(request)))
          .isInstanceOf(type)
          .hasMessageContaining(problem);
    }
  }

  @Test
  void oneConnectionServesManyRequestsOverAUnixSocket() throws IOException {
    try (var server = FakeServer.unix(directory.resolve("s"), HttpTransportTest::serveForEver);
        var transport = new HttpTransport(server.endpoint())) {
      transport.connect();
      for (int i = 0; i < 3; i++) {
        assertThat(text(transport.send(GET))).isEqualTo("GET");
        assertThat(text(transport.send(POST))).isEqualTo("POST");
      }
      assertThat(server.connections()).isEqualTo(1);
    }
  }

  @Test
  void twoRequestsAtOnceHaveAConnectionEach() throws IOException {
    try (var server = FakeServer.tcp(HttpTransportTest::serveForEver);
        var transport = new HttpTransport(server.endpoint());
        var first = transport.send(GET)) {
      assertThat(text(transport.send(GET))).isEqualTo("GET");
      assertThat(text(first)).isEqualTo("GET");
      assertThat(server.connections()).isEqualTo(2);
    }
  }

  @Test
  void theHeadSaysWhatTheBodyIs() throws IOException {
    var seen = new CompletableFuture<String>();
    try (var server =
            FakeServer.tcp(
                peer -> {
                  seen.complete(peer.request());
                  peer.answer(200, "");
                });
        var transport = new HttpTransport(server.endpoint())) {
      transport.send(POST.with("X-Key", "k")).close();

      assertThat(seen.join())
          .isEqualTo(
              "POST /x HTTP/1.1\r\nHost: "
                  + server.endpoint().authority()
                  + "\r\nX-Key: k\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n', abcde",
    "'\r\nuntil the end', until the end",
    "'Content-Length: 2\r\nContent-Length: 2\r\n\r\nab', ab",
    "'Connection: close\r\nContent-Length: 0\r\n\r\n', ''",
  })
  void bodiesEndAsTheHeadSays(String rest, String body) throws IOException {
    try (var server =
            FakeServer.tcp(sending("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + rest));
        var transport = new HttpTransport(server.endpoint())) {
      assertThat(text(transport.send(GET))).isEqualTo(body);
    }
  }

  @Test
  void aStreamIsSentPieceByPiece() throws Exception {
    var first = new CompletableFuture<String>();
    try (var server =
            FakeServer.tcp(
                peer -> {
                  assertThat(peer.head()).contains("Transfer-Encoding: chunked");
                  first.complete(new String(peer.in().readNBytes(8), UTF_8));
                  assertThat(new String(peer.in().readNBytes(13), UTF_8))
                      .isEqualTo("3\r\ntwo\r\n0\r\n\r\n");
                  peer.answer(200, "ok");
                });
        var transport = new HttpTransport(server.endpoint())) {
      var pieces =
          new InputStream() {
            private int count;

            @Override
            public int read() {
              throw new UnsupportedOperationException();
            }

            @Override
            public int read(byte[] buffer, int offset, int length) {
              if (count == 1) {
                // Only after the server has seen the first piece there is a second.
                assertThat(first.orTimeout(10, TimeUnit.SECONDS).join()).isEqualTo("3\r\none\r\n");
              }
              String piece = count == 0 ? "one" : "two";
              System.arraycopy(piece.getBytes(UTF_8), 0, buffer, offset, 3);
              return count++ < 2 ? 3 : -1;
            }
          };
      assertThat(text(transport.send(POST.with(Body.of("", pieces))))).isEqualTo("ok");
    }
  }

  @Test
  void anIdleConnectionThatWasClosedIsNotUsed() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  peer.request();
                  peer.answer(200, "first");
                },
                HttpTransportTest::serveForEver);
        var transport = new HttpTransport(server.endpoint())) {
      text(transport.send(POST));
      awaitNewConnection(transport, server);

      assertThat(text(transport.send(POST))).isEqualTo("POST");
    }
  }

  /** The closing takes a moment to arrive; until then a GET finds out by itself. */
  private static void awaitNewConnection(HttpTransport transport, FakeServer server)
      throws IOException {
    while (server.connections() < 2) {
      text(transport.send(GET));
    }
  }

  private static void answerOnceThenHangUpAfterTheSecond(FakeServer.Peer peer) throws IOException {
    peer.request();
    peer.answer(200, "first");
    peer.request();
  }

  @Test
  void aRequestLostOnAStaleConnectionIsRepeatedIfItMayBe() throws IOException {
    try (var server =
            FakeServer.tcp(
                HttpTransportTest::answerOnceThenHangUpAfterTheSecond,
                HttpTransportTest::serveForEver);
        var transport = new HttpTransport(server.endpoint())) {
      text(transport.send(GET));

      assertThat(text(transport.send(GET))).isEqualTo("GET");
      assertThat(server.connections()).isEqualTo(2);
    }
  }

  @Test
  void aPostThatLeftIsNotRepeated() throws IOException {
    try (var server =
            FakeServer.tcp(
                HttpTransportTest::answerOnceThenHangUpAfterTheSecond,
                HttpTransportTest::serveForEver);
        var transport = new HttpTransport(server.endpoint())) {
      text(transport.send(GET));

      assertThatThrownBy(() -> transport.send(POST)).isInstanceOf(EOFException.class);
      assertThat(server.connections()).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'SSH-2.0-OpenSSH_9.2\r\n', a response that is not HTTP/1: \"SSH-2.0-OpenSSH_9.2\"",
    "'HTTP/2 200 OK\r\n\r\n', a response that is not HTTP/1",
    "'HTTP/1.1 20 OK\r\n\r\n', a response that is not HTTP/1",
    "'HTTP/1.1 200 OK\r\nno colon\r\n\r\n', a malformed header line: \"no colon\"",
    "'HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n', a malformed header line",
    "'HTTP/1.1 200 OK\r\n folded: x\r\n\r\n', a malformed header line",
    "'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', a bad Content-Length",
    "'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', a bad Content-Length",
    "'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n', a bad Content-Length",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n', two lengths",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n', a coding that was not requested",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', a bad chunk size",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n', a bad chunk size",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n', a bad chunk size",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n', a chunk longer than",
    "'HTTP/1.1 101 Switching\r\n\r\n', an upgrade that was not requested",
  })
  void aMalformedAnswerIsNamed(String answer, String problem) throws IOException {
    assertFails(sendingAndWaiting(answer), GET, ProtocolException.class, problem);
  }

  @ParameterizedTest
  @CsvSource({
    "'', closed the connection within a status line",
    "'HTTP/1.1 200 OK\r\nContent-Le', closed the connection within header fields",
    "'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', 6 bytes before the end of the body",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc', within a chunk",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', within a chunk size",
    "'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', within header fields",
  })
  void anAnswerCutShortIsAnError(String answer, String problem) throws IOException {
    assertFails(sending(answer), POST, EOFException.class, problem);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "HTTP/1.1 200 ",
        "HTTP/1.1 200 OK\r\nA: ",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
      })
  void aLineWithoutAnEndIsGivenUp(String start) throws IOException {
    assertGivenUp(start, "x".repeat(1000));
  }

  @Test
  void headersWithoutAnEndAreGivenUp() throws IOException {
    assertGivenUp("HTTP/1.1 200 OK\r\n", "A: b\r\n".repeat(100));
    assertGivenUp("", "HTTP/1.1 102 Wait\r\n\r\n");
    assertGivenUp(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n".repeat(100));
  }

  @Test
  void aBodyWithoutAnEndIsGivenUp() throws IOException {
    assertGivenUp("HTTP/1.1 200 OK\r\n\r\n", "x".repeat(100_000));
    assertGivenUp("HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", "x".repeat(100_000));
    assertGivenUp(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n".repeat(999));
  }

  private static void assertGivenUp(String start, String more) throws IOException {
    FakeServer.Script endless =
        peer -> {
          sending(start).serve(peer);
          while (true) {
            peer.send(more);
          }
        };
    assertFails(endless, GET, ProtocolException.class, "more than");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"})
  void aServerThatFallsSilentIsGivenUpInTime(String start) throws IOException {
    try (var server = FakeServer.unix(directory.resolve("s"), sendingAndWaiting(start));
        var transport = new HttpTransport(server.endpoint())) {
      assertThatThrownBy(() -> text(transport.send(GET.with(Duration.ofMillis(200)))))
          .isInstanceOf(SocketTimeoutException.class)
          .hasMessageContaining("sent nothing for 200 ms");
    }
  }

  @Test
  void aServerThatTakesNothingIsGivenUpInTime() throws IOException {
    var over = new CompletableFuture<Boolean>();
    try (var server =
            FakeServer.unix(
                directory.resolve("s"),
                peer -> {
                  peer.head();
                  over.join();
                });
        var transport = new HttpTransport(server.endpoint())) {
      byte[] much = new byte[64 << 20];
      Request request = POST.with(Body.of("", much)).with(Duration.ofMillis(200));

      assertThatThrownBy(() -> transport.send(request))
          .isInstanceOf(SocketTimeoutException.class)
          .hasMessageContaining("accepted nothing for 200 ms");
      over.complete(true);
    }
  }

  @Test
  void closingAnAnswerEarlyHangsUp() throws Exception {
    var end = new CompletableFuture<Boolean>();
    try (var server =
            FakeServer.tcp(
                peer -> {
                  peer.request();
                  peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
                  peer.awaitEnd();
                  end.complete(true);
                });
        var transport = new HttpTransport(server.endpoint())) {
      try (var response = transport.send(GET)) {
        assertThat(response.body().read()).isEqualTo('x');
      }
      assertThat(end.get(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aRefusalBeforeAllWasSentIsStillRead() throws IOException {
    try (var server =
            FakeServer.unix(
                directory.resolve("s"),
                peer -> {
                  peer.head();
                  peer.answer(413, "too large");
                });
        var transport = new HttpTransport(server.endpoint())) {
      var much = new ByteArrayInputStream(new byte[64 << 20]);
      var response = transport.send(Request.of("PUT", Target.of("x")).with(Body.of("", much)));

      assertThat(response.status()).isEqualTo(413);
      assertThat(text(response)).isEqualTo("too large");
    }
  }

  @Test
  void aBodyThatCannotBeReadIsNotBlamedOnTheServer() throws IOException {
    try (var server = FakeServer.tcp(FakeServer.Peer::awaitEnd);
        var transport = new HttpTransport(server.endpoint())) {
      var broken = InputStream.nullInputStream();
      broken.close();

      assertThatThrownBy(() -> transport.send(POST.with(Body.of("", broken))))
          .hasMessage("Stream closed");
    }
  }

  @Test
  void anAbsentServerIsAConnectException() throws IOException {
    var missing = new HttpTransport(Endpoint.unix(directory.resolve("missing")));
    assertThatThrownBy(missing::connect)
        .isInstanceOf(ConnectException.class)
        .hasMessageContaining("missing");

    var refused = new HttpTransport(Endpoint.tcp(URI.create("http://127.0.0.1:1")));
    assertThatThrownBy(() -> refused.send(GET)).isInstanceOf(ConnectException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"https://a/path", "ftp://a", "http://", "http://a/path", "http://u@a", "a:1"})
  void onlyPlainAddressesAreTaken(String uri) {
    assertThatThrownBy(() -> Endpoint.tcp(URI.create(uri)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aNameCannotLeaveItsPlaceInTheRequest() {
    assertThat(Target.of("a/b?c d", "é").with("q", "1&x=2"))
        .hasToString("/a%2Fb%3Fc%20d/%C3%A9?q=1%26x%3D2");
    assertThatThrownBy(() -> Target.of("v1", "..")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Target.of("v1", "")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> GET.with("A", "b\r\nC: d"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
