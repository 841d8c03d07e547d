package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.ebb.egress.Decision.Outcome;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A request head has one meaning, or is refused. */
class RequestHeadTest {
  private static RequestHead parse(String head) throws RefusedException {
    byte[] bytes = head.getBytes(ISO_8859_1);
    int end = RequestHead.end(bytes, 0, bytes.length);
    assertThat(end).as("whole").isPositive();
    return RequestHead.parse(bytes, end);
  }

  private static RefusedException refusal(String head) {
    return catchThrowableOfType(RefusedException.class, () -> parse(head));
  }

  private static String get(String... fields) {
    return "GET http://a.org/x HTTP/1.1\r\nHost: a.org\r\n" + String.join("", fields) + "\r\n";
  }

  @Test
  void aTunnelHasANameAndAPort() throws RefusedException {
    RequestHead head = parse("CONNECT A.org.:443 HTTP/1.1\r\nHost: a.org:443\r\nX: y\r\n\r\n");
    assertThat(head.isTunnel()).isTrue();
    assertThat(head.destination()).hasToString("a.org:443");
    assertThat(parse("CONNECT a.org:443 HTTP/1.0\r\n\r\n").destination()).hasToString("a.org:443");
    assertThat(parse("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n").isTunnel()).isTrue();
  }

  @Test
  void onlyTheFieldsForTheServerAreForwarded() throws RefusedException {
    RequestHead head =
        parse(
            lines(
                "POST http://A.org:8080/path?q=1 HTTP/1.1",
                "Host: a.ORG:8080",
                "Accept: */*",
                "Proxy-Authorization: Basic c2VjcmV0",
                "Proxy-Connection: keep-alive",
                "Connection: keep-alive, X-Hop",
                "X-Hop: 1",
                "Content-Length: 3",
                "TE: trailers"));
    assertThat(head.isTunnel()).isFalse();
    assertThat(head.destination()).hasToString("a.org:8080");
    assertThat(head.length()).isEqualTo(3);
    assertThat(head.forwarded())
        .isEqualTo(
            lines(
                "POST /path?q=1 HTTP/1.1",
                "Host: a.org:8080",
                "Accept: */*",
                "Content-Length: 3",
                "Connection: close"));
  }

  private static String lines(String... lines) {
    return String.join("\r\n", lines) + "\r\n\r\n";
  }

  @Test
  void theConnectionHeaderRemovesNeitherHostNorLength() throws RefusedException {
    String fields = "Connection: host, content-length\r\nContent-Length: 3\r\n";
    assertThat(parse(get(fields)).forwarded())
        .isEqualTo(
            "GET /x HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  }

  @Test
  void aTargetNeedsNoPath() throws RefusedException {
    assertThat(parse("GET http://a.org HTTP/1.0\r\n\r\n").forwarded())
        .startsWith("GET / HTTP/1.0\r\n");
    assertThat(parse("GET HTTP://a.org?q HTTP/1.0\r\n\r\n").forwarded())
        .startsWith("GET /?q HTTP/1.0\r\n");
  }

  @Test
  void anIncompleteHeadIsWaitedFor() throws RefusedException {
    byte[] bytes = get().getBytes(ISO_8859_1);
    for (int size = 0; size < bytes.length; size++) {
      assertThat(RequestHead.end(bytes, 0, size)).isNegative();
    }
    assertThat(RequestHead.end(bytes, bytes.length - 1, bytes.length)).isEqualTo(bytes.length);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -3\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: 3 3\r\n",
        "Content-Length:\r\n",
        "Content-Length: 9999999999999999999\r\n",
        "X: y\r\n folded\r\n",
        "X: y\r\n\tContent-Length: 3\r\n",
        " X: y\r\n",
        "Content-Length : 3\r\n",
        "Content-Length\t: 3\r\n",
        "no colon\r\n",
        ": no name\r\n",
        "X\u0001: y\r\n",
        "X: a\u0001b\r\n",
        "X: a\u007fb\r\n",
        "Host: a.org\r\n",
        "Host: b.org\r\n",
      })
  void anAmbiguousHeadIsRefused(String fields) {
    assertThat(refusal(get(fields)).status()).isEqualTo(400);
    assertThat(refusal(get(fields)).outcome()).isEqualTo(Outcome.MALFORMED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET http://a.org/ HTTP/1.1\nHost: a.org\n\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: a.org\nX: y\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: a.org\rX: y\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX: a\u0000b\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\r\nHost: a.org\r\n\r\n",
      })
  void aLineEndsInOneWay(String head) {
    assertThatThrownBy(() -> parse(head)).isInstanceOf(RefusedException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET ftp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://user@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://b.org@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org\\@b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/#b HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org:0/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org:65536/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org:80:80/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://b%2eorg/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
        "GET  http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1 \r\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/2.0\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/\r\nHost: a.org\r\n\r\n",
        "G(T http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/a b HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "\r\nGET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: a.org:81\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\n\r\n",
        "CONNECT a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "CONNECT http://a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "CONNECT a.org:443 HTTP/1.1\r\nHost: b.org:443\r\n\r\n",
        "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:444\r\n\r\n",
        "CONNECT a.org:443 HTTP/1.1\r\n\r\n",
        "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\nContent-Length: 1\r\n\r\n",
      })
  void aHeadThatIsNoProxyRequestIsRefused(String head) {
    assertThat(refusal(head).outcome()).isEqualTo(Outcome.MALFORMED);
    assertThat(refusal(head).status()).isEqualTo(400);
  }

  @Test
  void aBodyOfUnknownLengthIsRefusedForItsLength() {
    assertThat(refusal(get("Transfer-Encoding: chunked\r\n")).status()).isEqualTo(411);
    assertThat(refusal(get("transfer-encoding: identity\r\n")).status()).isEqualTo(411);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1", "127.1", "2130706433", "017700000001", "0177.0.0.1", "0x7f.0.0.1",
            "0x7f000001", "0X7F.1",
        "[::1]", "[::ffff:127.0.0.1]", "[fe80::1%25lo]", "1.1.1.1", "127.0.0.1.", "169.254.169.254",
            "0", "a.0x1"
      })
  void anAddressIsNotTakenForAName(String host) {
    assertThat(refusal("CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + "\r\n\r\n").outcome())
        .isEqualTo(Outcome.LITERAL);
    assertThat(refusal("GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n").outcome())
        .isEqualTo(Outcome.LITERAL);
  }

  @Test
  void tooManyFieldsAreRefused() {
    assertThat(refusal(get("X: y\r\n".repeat(200))).status()).isEqualTo(431);
  }
}
