package dev.ebb.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.client.http.FakeServer;
import dev.ebb.json.Json;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class EbbClientTest {
  private static final String BOX =
      """
      {"id": "b0123456789ab", "name": "mine", "tenant": "default", "state": "running",
       "labels": {"k": "v"}, "limits": {"memoryBytes": 5, "pids": 7, "cpus": 0.5},
       "network": "none", "mounts": [{"source": "/a", "target": "/b", "readOnly": true}],
       "packages": [], "ttlMillis": 60000, "createdAt": "2026-01-02T03:04:05.678Z",
       "runningExecs": 2, "futureField": [1]}""";
  private static final String CERTIFICATE =
      """
      {"subject": "b0123456789ab", "held": {"process": 1}, "released": {"process": 1, "cgroup": 5},
       "stuck": [], "clean": true, "durationMillis": 5}""";
  private static final String EXEC =
      """
      {"box": "b0123456789ab", "number": 3, "command": ["true"], "state": "ended",
       "status": "exited", "exitCode": 0, "cause": {"kind": "exited", "code": 0},
       "startedAt": "2026-01-02T03:04:05Z", "durationMillis": 9, "stdoutBytes": 4,
       "stderrBytes": 0, "truncated": false, "pids": [12],
       "usage": {"cpuMillis": 3, "peakMemoryBytes": 4096, "peakProcesses": 1,
                 "oomKills": 0, "forksRefused": 0}}""";

  @TempDir Path directory;

  private final List<String> requests = Collections.synchronizedList(new ArrayList<>());

  /** Answers each request on any connection by what the function makes of it. */
  private FakeServer.Script answering(int status, UnaryOperator<String> answer) {
    return peer -> {
      while (true) {
        String request = peer.request();
        requests.add(request);
        peer.answer(status, answer.apply(request));
      }
    };
  }

  private FakeServer.Script answering(int status, String answer) {
    return answering(status, request -> answer);
  }

  private static EbbClient connect(FakeServer server) throws IOException {
    return EbbClient.connect(server.uri(), "secret");
  }

  private static String line(String request) {
    return request.substring(0, request.indexOf(" HTTP/1.1"));
  }

  private static String body(String request) {
    return request.substring(request.indexOf("\r\n\r\n") + 4);
  }

  @Test
  void aBoxIsAskedForAndUnderstood() throws IOException {
    try (var server = FakeServer.tcp(answering(201, BOX));
        var client = connect(server)) {
      Box box =
          client
              .boxes()
              .create(
                  BoxRequest.defaults()
                      .withName("mine")
                      .withLabel("k", "v")
                      .withTtl(Duration.ofMinutes(1))
                      .withLimits(new Limits(5L, 7, 0.5, null))
                      .withMount(new Mount("/a", "/b", true))
                      .withFile("x", Output.of(new byte[] {(byte) 0xff})),
                  "key-1");

      assertThat(line(requests.getFirst())).isEqualTo("POST /v1/boxes");
      assertThat(requests.getFirst())
          .contains("Authorization: Bearer secret\r\n")
          .contains("Idempotency-Key: key-1\r\n")
          .contains("Content-Type: application/json\r\n");
      assertThat(Json.readObject(body(requests.getFirst())))
          .isEqualTo(
              Json.readObject(
                  """
                  {"name": "mine", "labels": {"k": "v"}, "ttlMillis": 60000,
                   "limits": {"memoryBytes": 5, "pids": 7, "cpus": 0.5},
                   "mounts": [{"source": "/a", "target": "/b", "readOnly": true}],
                   "files": [{"path": "x", "content": {"base64": "/w=="}}]}"""));
      assertThat(box.id()).isEqualTo("b0123456789ab");
      assertThat(box.state()).isEqualTo(BoxState.RUNNING);
      assertThat(box.limits()).isEqualTo(new Limits(5L, 7, 0.5, null));
      assertThat(box.ttl()).isEqualTo(Duration.ofMinutes(1));
      assertThat(box.mounts()).containsExactly(new Mount("/a", "/b", true));
      assertThat(box.document().has("futureField")).isTrue();
    }
  }

  @Test
  void aListIsReadToItsLastPage() throws IOException {
    try (var server =
            FakeServer.tcp(
                answering(
                    200,
                    request ->
                        request.contains("after=")
                            ? "{\"boxes\": [" + BOX + "]}"
                            : "{\"boxes\": [" + BOX + "], \"next\": \"b0\"}"));
        var client = connect(server)) {
      var query = BoxQuery.all().withLabel("a", "b c").withState(BoxState.PAUSED);

      assertThat(client.boxes().list(query)).hasSize(2);
      assertThat(requests)
          .extracting(EbbClientTest::line)
          .containsExactly(
              "GET /v1/boxes?label=a%3Db%20c&state=paused",
              "GET /v1/boxes?label=a%3Db%20c&state=paused&after=b0");
    }
  }

  @Test
  void aListThatNeverEndsIsGivenUp() throws IOException {
    String page = "{\"boxes\": [" + BOX + "], \"next\": \"b0\"}";
    try (var server = FakeServer.tcp(answering(200, page));
        var client = connect(server)) {
      assertThatThrownBy(() -> client.boxes().list(BoxQuery.all()))
          .hasMessage("the list of boxes does not continue after b0");
    }
  }

  @Test
  void theDaemonsProblemIsAnException() throws IOException {
    String problem =
        """
        {"type": "urn:ebb:problem:not-found", "title": "Not found", "status": 404,
         "detail": "no box x", "code": "not-found", "retryable": false, "hint": "ebb ls"}""";
    try (var server = FakeServer.tcp(answering(404, problem));
        var client = connect(server)) {
      assertThatThrownBy(() -> client.boxes().inspect("x"))
          .isInstanceOfSatisfying(
              NotFoundException.class,
              e -> {
                assertThat(e).hasMessage("no box x");
                assertThat(e.code()).isEqualTo("not-found");
                assertThat(e.status()).isEqualTo(404);
                assertThat(e.isRetryable()).isFalse();
                assertThat(e.hint()).isEqualTo("ebb ls");
              });
    }
  }

  @Test
  void anErrorThatIsNoProblemDocumentIsOneToo() throws IOException {
    try (var server = FakeServer.tcp(answering(502, "<html>\nbad gateway"));
        var client = connect(server)) {
      assertThatThrownBy(() -> client.boxes().inspect("x"))
          .isInstanceOf(EbbException.class)
          .hasMessage("status 502: <html>?bad gateway");
    }
  }

  @Test
  void anAddressWithoutADaemonHasItsOwnException() {
    assertThatThrownBy(() -> EbbClient.connect(directory.resolve("ebb.sock")))
        .isInstanceOf(NoDaemonException.class)
        .hasMessageContaining("no daemon answers at " + directory.resolve("ebb.sock"));
    assertThatThrownBy(() -> EbbClient.connect(URI.create("http://127.0.0.1:1"), "k"))
        .isInstanceOf(NoDaemonException.class);
  }

  @Test
  void aRunHasItsOutputAndItsCertificate() throws IOException {
    String result =
        EXEC.substring(0, EXEC.length() - 1)
            + ", \"stdout\": {\"text\": \"42\\n\"}, \"stderr\": {\"base64\": \"/w==\"},"
            + " \"certificate\": "
            + CERTIFICATE
            + "}";
    try (var server = FakeServer.tcp(answering(200, result));
        var client = connect(server)) {
      Result run = client.run(BoxRequest.defaults(), ExecRequest.of("true"));

      assertThat(body(requests.getFirst())).isEqualTo("{\"exec\":{\"command\":[\"true\"]}}");
      assertThat(run.exec().exitCode()).isZero();
      assertThat(run.stdout().text()).isEqualTo("42\n");
      assertThat(run.stderr().bytes()).isEqualTo(new byte[] {(byte) 0xff});
      assertThat(run.certificate())
          .hasToString("b0123456789ab: released process 1, cgroup 5 in 5 ms; nothing left");
    }
  }

  private static final String EVENTS =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

  private static String chunk(String text) {
    return Integer.toHexString(text.getBytes(UTF_8).length) + "\r\n" + text + "\r\n";
  }

  @Test
  void followingGoesOnAfterABrokenConnection() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  requests.add(peer.request());
                  peer.send(EVENTS);
                  peer.send(chunk("event: stdout\nid: 2:0\ndata: {\"text\": \"ab\"}\n\n"));
                  peer.send(chunk("event: stderr\nid: 2:1\ndata: {\"te"));
                },
                peer -> {
                  requests.add(peer.request());
                  peer.send(EVENTS);
                  peer.send(chunk("event: stderr\nid: 2:1\ndata: {\"base64\": \"/w==\"}\n\n"));
                  String end = EXEC.replace("\n", "");
                  peer.send(chunk("event: end\nid: 2:1\ndata: " + end + "\n\n") + chunk(""));
                });
        var client = connect(server);
        var following = client.execs("b").follow(3, Offsets.START)) {
      assertThat(following.next())
          .contains(
              new ExecEvent.Wrote(OutputStreamName.STDOUT, Output.of("ab"), new Offsets(2, 0)));
      assertThat(following.next())
          .contains(
              new ExecEvent.Wrote(
                  OutputStreamName.STDERR, Output.of(new byte[] {-1}), new Offsets(2, 1)));
      assertThat(following.next()).get().isInstanceOf(ExecEvent.Ended.class);
      assertThat(following.next()).isEmpty();
      assertThat(following.offsets()).isEqualTo(new Offsets(2, 1));
    }
    assertThat(requests.get(0)).doesNotContain("Last-Event-ID");
    assertThat(requests.get(1)).contains("Last-Event-ID: 2:0\r\n");
    assertThat(line(requests.get(1))).isEqualTo("GET /v1/boxes/b/execs/3/output?follow=true");
  }

  @Test
  void aRunThatBreaksOffIsNotRepeated() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  peer.request();
                  peer.send(EVENTS + chunk("event: stdout\nid: 1:0\ndata: {\"text\": \"a\"}\n\n"));
                });
        var client = connect(server);
        var following = client.runAndFollow(BoxRequest.defaults(), ExecRequest.of("true"))) {
      assertThat(following.next()).isPresent();
      assertThatThrownBy(following::next).isInstanceOf(IOException.class);
      assertThat(server.connections()).isEqualTo(1);
    }
  }

  @Test
  void eventsOfBoxesGoOnAfterTheLastOne() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  requests.add(peer.request());
                  String data = "{\"box\": \"b1\", \"state\": \"running\", \"at\": \"t\"}";
                  peer.send(EVENTS + chunk("event: box\nid: 7\ndata: " + data + "\n\n"));
                },
                peer -> {
                  requests.add(peer.request());
                  String data =
                      "{\"box\": \"b1\", \"exec\": 2, \"state\": \"ended\", \"exitCode\": 9}";
                  peer.send(EVENTS + chunk("event: exec\nid: 8\ndata: " + data + "\n\n"));
                  peer.awaitEnd();
                });
        var client = connect(server);
        var events = client.events()) {
      assertThat(events.next().state()).isEqualTo("running");
      assertThat(events.next())
          .returns("8", BoxEvent::id)
          .returns(2L, BoxEvent::exec)
          .returns(9, BoxEvent::exitCode);
    }
    assertThat(requests)
        .extracting(EbbClientTest::line)
        .containsExactly("GET /v1/events", "GET /v1/events?after=7");
  }

  @Test
  void filesAreNamedInTheQuery() throws IOException {
    try (var server = FakeServer.tcp(answering(204, ""));
        var client = connect(server)) {
      var files = client.files("b");
      files.write("a b/ü", "x".getBytes(UTF_8));
      files.mkdir("d");
      files.move("d", "e");
      files.remove("e", true);

      assertThat(requests)
          .extracting(EbbClientTest::line)
          .containsExactly(
              "PUT /v1/boxes/b/files?path=a%20b%2F%C3%BC&mode=644",
              "POST /v1/boxes/b/files/mkdir?path=d",
              "POST /v1/boxes/b/files/move?from=d&to=e",
              "DELETE /v1/boxes/b/files?path=e&recursive=true");
    }
  }

  @Test
  void callsThatTakeTimeSaySoInTheQuery() throws IOException {
    try (var server = FakeServer.tcp(answering(200, EXEC));
        var client = connect(server)) {
      var execs = client.execs("b");
      assertThat(execs.await(3, Duration.ofSeconds(2)).hasEnded()).isTrue();
      execs.kill(3, Duration.ofSeconds(1));
      execs.signal(3, "HUP");
      execs.closeStdin(3);

      assertThat(requests)
          .extracting(EbbClientTest::line)
          .containsExactly(
              "GET /v1/boxes/b/execs/3/wait?timeoutMillis=2000",
              "POST /v1/boxes/b/execs/3/kill?signal=TERM&graceMillis=1000&wait=true",
              "POST /v1/boxes/b/execs/3/kill?signal=HUP",
              "POST /v1/boxes/b/execs/3/stdin?close=true");
    }
  }

  @Test
  void aStreamGoesToStdinInChunks() throws IOException {
    try (var server =
            FakeServer.tcp(
                peer -> {
                  requests.add(peer.head());
                  assertThat(new String(peer.in().readNBytes(13), UTF_8))
                      .isEqualTo("3\r\nabc\r\n0\r\n\r\n");
                  peer.send("HTTP/1.1 204 No Content\r\n\r\n");
                });
        var client = connect(server)) {
      client.execs("b").feedAll(1, new ByteArrayInputStream("abc".getBytes(UTF_8)));

      assertThat(line(requests.getFirst())).endsWith("/execs/1/stdin?close=true");
    }
  }

  @Test
  void anAnswerWithoutItsFieldsIsNamed() throws IOException {
    try (var server = FakeServer.tcp(answering(200, "{\"id\": 5}"));
        var client = connect(server)) {
      assertThatThrownBy(() -> client.boxes().inspect("b"))
          .hasMessage("field \"id\" holds 5 where a string belongs");
    }
  }

  @Test
  void aLateRefusalIsThrownLikeAnEarlyOne() throws IOException {
    String problem =
        "{\"problem\": {\"status\": 503, \"code\": \"pressure\", \"detail\": \"no PIDs\","
            + " \"retryable\": true}}";
    Code code = Code.of("c", "int main;");
    try (var server = FakeServer.tcp(answering(200, problem));
        var client = connect(server)) {
      assertThatThrownBy(() -> client.run(code)).satisfies(EbbClientTest::isPressure);
    }
    try (var server =
            FakeServer.tcp(
                peer -> {
                  requests.add(peer.request());
                  peer.send(EVENTS);
                  peer.send(chunk("event: end\nid: 0:0\ndata: " + problem + "\n\n") + chunk(""));
                });
        var client = connect(server);
        var following = client.runAndFollow(code)) {
      assertThatThrownBy(following::next).satisfies(EbbClientTest::isPressure);
    }
  }

  private static void isPressure(Throwable thrown) {
    assertThat(thrown).isInstanceOf(EbbException.class).hasMessage("no PIDs");
    assertThat(((EbbException) thrown).code()).isEqualTo("pressure");
    assertThat(((EbbException) thrown).isRetryable()).isTrue();
  }
}
