package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Requests that are under way when their box is stopped or removed. The init is stopped by a
 * signal, so no request has finished by then.
 */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonEndedMeanwhileAcceptanceTest {
  private static final String EXEC = "{\"command\":[\"true\"]}";

  /** Method, path below the box, and body. */
  private static final List<List<String>> REQUESTS =
      List.of(
          List.of("POST", "/execs?wait=true", EXEC),
          List.of("POST", "/execs", EXEC),
          List.of("POST", "/contexts", "{\"language\":\"python\"}"),
          List.of("GET", "/files?path=x", ""),
          List.of("PUT", "/files?path=x", "content"),
          List.of("GET", "/files/list?path=.", ""),
          List.of("GET", "/files/stat?path=.", ""),
          List.of("POST", "/files/mkdir?path=y", ""),
          List.of("GET", "/files/tar?path=.", ""));

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private static void signal(String name, long pid) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start().waitFor())
        .isZero();
  }

  private long initOf(String box) throws IOException {
    return requireNonNull(
        daemon.client().boxes().inspect(box).holdings().stream()
            .filter(held -> held.kind().equals("process"))
            .findFirst()
            .orElseThrow()
            .pid());
  }

  private interface Ending {
    void of(EbbClient client, String box) throws IOException;
  }

  private Map<String, String> answers(Ending ending) throws Exception {
    EbbClient client = daemon.client();
    String key = "Authorization: Bearer " + daemon.key();
    String box = client.boxes().create(BoxRequest.defaults()).id();
    long init = initOf(box);
    signal("STOP", init);
    var pending = new LinkedHashMap<String, CompletableFuture<Wire.Answer>>();
    for (List<String> each : REQUESTS) {
      var answer = new CompletableFuture<Wire.Answer>();
      pending.put(each.get(0) + " " + each.get(1), answer);
      Thread.ofVirtual()
          .start(
              () -> {
                try {
                  String target = "/v1/boxes/" + box + each.get(1);
                  answer.complete(Wire.ask(daemon.uri(), each.get(0), target, each.get(2), key));
                } catch (IOException e) {
                  answer.completeExceptionally(e);
                }
              });
    }
    // The box lists both commands, so the requests are under way; none is answered before.
    await().atMost(DaemonProcess.PATIENCE).until(() -> client.execs(box).list().size() >= 2);
    ending.of(client, box);
    var answers = new LinkedHashMap<String, String>();
    for (var each : pending.entrySet()) {
      Wire.Answer answer = each.getValue().get(60, TimeUnit.SECONDS);
      answers.put(each.getKey(), answer.status() + " " + answer.body());
    }
    client.boxes().remove(box, true);
    return answers;
  }

  private static void assertAnswered(Map<String, String> answers) {
    assertThat(answers)
        .allSatisfy(
            (request, answer) ->
                assertThat(answer).as(request).matches("(?s)(20[0-9]|404|409) .*"));
    assertThat(answers.values()).anyMatch(answer -> answer.matches("(?s)40[49] .*"));
  }

  @Test
  void requestsAreAnsweredWhenTheBoxIsStopped() throws Exception {
    TestHost.require(Feature.ROOT);
    assertAnswered(answers((client, box) -> client.boxes().stop(box, Duration.ZERO)));
  }

  @Test
  void requestsAreAnsweredWhenTheBoxIsRemoved() throws Exception {
    TestHost.require(Feature.ROOT);
    assertAnswered(answers((client, box) -> client.boxes().remove(box, true)));
  }
}
