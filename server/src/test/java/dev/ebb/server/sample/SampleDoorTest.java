package dev.ebb.server.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.server.http.Disconnects;
import dev.ebb.server.http.Dispatcher;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.Gate;
import dev.ebb.server.http.Listeners;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.rest.RestDoor;
import dev.ebb.server.rest.Watches;
import dev.ebb.server.service.access.Keys;
import dev.ebb.server.service.access.Policy;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.server.service.access.Role;
import dev.ebb.server.service.access.TenantMemory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A door beside REST on a real server: each of its rules lets in and keeps out. */
@Timeout(60)
class SampleDoorTest {
  private static final String ECHO = "POST /sample/echo/bob";
  private static final String BODY = "{\"text\":\"hi\"}";
  private static final Semaphore NUMBERS = new Semaphore(0);

  @TempDir private static Path home;
  private static Listeners listeners;
  private static Disconnects disconnects;
  private static String key;

  @BeforeAll
  static void serve() throws Exception {
    key = new Keys(home).create("acme", Role.USER, "").key();
    var addresses =
        new Listeners.Addresses(
            home.resolve("sock"),
            Optional.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)),
            Optional.empty(),
            Set.of("ebb.test"),
            100);
    listeners = Listeners.of(addresses, 1000);
    disconnects = new Disconnects();
    var gate = new Gate(new Keys(home), addresses.allHosts(), Files.getOwner(home));
    listeners.start(dispatcher(gate, List.of(rest(), new SampleDoor(NUMBERS))));
  }

  private static Dispatcher dispatcher(Gate gate, List<Door> doors) {
    var metrics = new Metrics();
    var baseline =
        new BaselineWatch(InstantSource.system(), Duration.ofDays(1), () -> true, () -> 0);
    var watches =
        new Dispatcher.Watches(
            metrics, baseline, new Quotas(home, Quota.NONE), disconnects, TenantMemory.ofHeap());
    return new Dispatcher(gate, watches, doors);
  }

  /** No route of it is used that needs more than a version. */
  @SuppressWarnings("NullAway")
  private static Door rest() {
    var house =
        new Door.House(
            null, Policy.STRICT, SessionLimits.DEFAULT, InstantSource.system(), "sample");
    var watches = new Watches(null, null, null, null, null, null);
    return new RestDoor(house, watches, new Metrics(), Map.of(), List.of());
  }

  @AfterAll
  static void end() {
    listeners.stop();
    disconnects.close();
  }

  /** The answer; the head in lower case. */
  private record Answer(int status, String head, String body) {}

  private static String text(String line, String body, String... headers) {
    var text = new StringBuilder(line + " HTTP/1.1\r\nConnection: close\r\n");
    List.of(headers).forEach(each -> text.append(each).append("\r\n"));
    if (List.of(headers).stream().noneMatch(each -> each.startsWith("Host:"))) {
      text.append("Host: localhost\r\n");
    }
    return text.append("Content-Length: %d\r\n\r\n%s".formatted(body.length(), body)).toString();
  }

  private static Answer answer(String whole) {
    int end = whole.indexOf("\r\n\r\n");
    return new Answer(
        Integer.parseInt(whole.substring(9, 12)),
        whole.substring(0, end).toLowerCase(Locale.ROOT),
        whole.substring(end + 4));
  }

  private static Answer ask(String line, String body, String... headers) {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), listeners.port())) {
      socket.getOutputStream().write(text(line, body, headers).getBytes(StandardCharsets.US_ASCII));
      return answer(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // --- its key ---

  @Test
  void itsKeyIsInItsOwnHeader() {
    assertThat(ask(ECHO, BODY, "X-API-Key: " + key))
        .returns(200, Answer::status)
        .extracting(Answer::body)
        .asString()
        .contains("\"name\":\"bob\"", "\"text\":\"hi\"", "\"tenant\":\"acme\"");
  }

  @Test
  void orInTheQueryWhereNoRouteKnowsIt() {
    NUMBERS.release();
    assertThat(ask("GET /sample/count?to=1&token=" + key, ""))
        .returns(200, Answer::status)
        .extracting(Answer::body)
        .asString()
        .contains("1\n");
    assertThat(ask("GET /sample/count?to=1&tokens=" + key, "", "X-API-Key: " + key).status())
        .isEqualTo(400);
  }

  @Test
  void aSecretOfTheDoorItselfNamesItsTenant() {
    assertThat(ask(ECHO, BODY, "Cookie: sample=" + SampleDoor.LOGIN).body())
        .contains("\"tenant\":\"guest\"");
    assertThat(ask(ECHO, BODY, "Cookie: sample=login-2").status()).isEqualTo(403);
  }

  @Test
  void theKeyOfAnotherDoorIsNoneHere() {
    assertThat(ask(ECHO, BODY, "Authorization: Bearer " + key).status()).isEqualTo(403);
    assertThat(ask("GET /v1/version", "", "X-API-Key: " + key).status()).isEqualTo(401);
    assertThat(ask("GET /v1/version", "", "Cookie: sample=" + SampleDoor.LOGIN).status())
        .isEqualTo(401);
    assertThat(ask("GET /v1/version", "", "Authorization: Bearer " + key).status()).isEqualTo(200);
  }

  @Test
  void anOpenRouteNeedsNone() {
    assertThat(ask("GET /sample/health", "").status()).isEqualTo(204);
    assertThat(ask("POST /sample/health", "").status()).isEqualTo(403);
  }

  @Test
  void theOwnerOfTheSocketNeedsNone() throws IOException {
    var address = UnixDomainSocketAddress.of(home.resolve("sock"));
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(address);
      Channels.newOutputStream(channel)
          .write(text(ECHO, BODY, "Host: anything").getBytes(StandardCharsets.US_ASCII));
      var whole = Channels.newInputStream(channel).readAllBytes();
      assertThat(answer(new String(whole, StandardCharsets.US_ASCII)).body())
          .contains("\"tenant\":\"default\"");
    }
  }

  // --- its errors ---

  @Test
  void itsErrorsHaveItsOwnForm() {
    var refused = ask(ECHO, BODY);
    assertThat(refused.status()).isEqualTo(403);
    assertThat(refused.head())
        .contains("content-type: application/json", "x-sample-path: sample/echo/bob")
        .doesNotContain("www-authenticate");
    assertThat(refused.body()).contains("{\"error\":{", "\"code\":403", "no key was sent");
    assertThat(ask(ECHO, "{}", "X-API-Key: " + key).body())
        .contains("\"code\":400", "\\\"text\\\" is missing");
    assertThat(ask("GET /sample/nowhere", "", "X-API-Key: " + key).body())
        .contains("\"code\":404", "no such route");
    assertThat(ask("PUT /sample/count", "", "X-API-Key: " + key).body()).contains("\"code\":405");
  }

  @Test
  void whatIsAtNoDoorHasTheFormOfRest() {
    var unknown = ask("GET /samples/count", "", "Authorization: Bearer " + key);
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.head()).contains("content-type: application/problem+json");
    assertThat(unknown.body()).contains("\"code\":\"not-found\"");
    var refused = ask("GET /samples/count", "", "X-API-Key: " + key);
    assertThat(refused.status()).isEqualTo(401);
    assertThat(refused.head()).contains("www-authenticate: bearer");
    assertThat(ask("GET /sample%zz", "", "Authorization: Bearer " + key).status()).isEqualTo(400);
  }

  // --- its hosts and origins ---

  @ParameterizedTest
  @CsvSource({
    "localhost, 200",
    "ebb.test:80, 200",
    "sample.test, 200",
    "evil.test, 403",
    "boxes.test, 403"
  })
  void itIsCalledByItsNamesOnly(String host, int status) {
    assertThat(ask(ECHO, BODY, "X-API-Key: " + key, "Host: " + host).status()).isEqualTo(status);
  }

  @Test
  void aNameOfOneDoorIsNoneOfAnother() {
    assertThat(ask("GET /healthz", "", "Host: sample.test").status()).isEqualTo(403);
    assertThat(ask("GET /healthz", "", "Host:").status()).isIn(400, 403);
  }

  @Test
  void aHostLeadsToItWhateverThePath() {
    assertThat(ask("GET /where", "", "X-API-Key: " + key, "Host: 3000-b1.Boxes.test:7070"))
        .returns(200, Answer::status)
        .extracting(Answer::body)
        .asString()
        .contains("\"door\":\"sample\"");
    assertThat(ask("GET /where", "", "Authorization: Bearer " + key).status()).isEqualTo(404);
    assertThat(ask("GET /where", "", "X-API-Key: " + key, "Host: a.b.boxes.test").status())
        .isEqualTo(403);
    assertThat(ask("GET /where", "", "Host: b1.boxes.test").status()).isEqualTo(403);
  }

  @Test
  void onlyItsOwnPagesMayUseIt() {
    String mine = "X-API-Key: " + key;
    assertThat(ask(ECHO, BODY, mine, "Origin: https://pages.test").status()).isEqualTo(200);
    assertThat(ask(ECHO, BODY, mine, "Origin: https://evil.test").body())
        .contains("\"code\":403", "web pages");
    assertThat(
            ask("GET /v1/version", "", "Authorization: Bearer " + key, "Origin: https://pages.test")
                .status())
        .isEqualTo(403);
  }

  // --- its streams ---

  @Test
  void aStreamIsSentAsItComes() throws IOException {
    NUMBERS.drainPermits();
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), listeners.port())) {
      String request = text("GET /sample/count?to=2", "", "X-API-Key: " + key);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      var lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      NUMBERS.release();
      assertThat(next(lines, "1")).isTrue();
      NUMBERS.release();
      assertThat(next(lines, "2")).isTrue();
    }
  }

  private static boolean next(BufferedReader lines, String wanted) throws IOException {
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.equals(wanted)) {
        return true;
      }
    }
    return false;
  }

  // --- beside others ---

  @Test
  void twoDoorsAtOnePlaceAreRefused() throws IOException {
    var gate = new Gate(new Keys(home), Set.of(), Files.getOwner(home));
    var one = new SampleDoor(NUMBERS);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> dispatcher(gate, List.of(rest(), one, new SampleDoor(NUMBERS))))
        .withMessageContaining("sample and sample are both mounted at");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> dispatcher(gate, List.of(one)))
        .withMessage("no door is mounted everywhere");
  }
}
