package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A removal that is asked for again, and one without a waiting caller; in every interface. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonRemovalAcceptanceTest {
  /** No test waits that long, so an answer that comes did not wait for it. */
  private static final Duration LONG_GRACE = Duration.ofMinutes(10);

  private static final ExecRequest STUBBORN =
      ExecRequest.of("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done");

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private static Box box(EbbClient client, String name) throws Exception {
    return client.boxes().create(BoxRequest.defaults().withName(name));
  }

  private static EbbException refused(EbbClient client, String box) {
    return catchThrowableOfType(EbbException.class, () -> client.boxes().remove(box, true));
  }

  private static Exec stubborn(EbbClient client, Box box) throws Exception {
    Exec started = client.execs(box.id()).start(STUBBORN);
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs(box.id()).inspect(started.number()).stdoutBytes() > 0);
    return started;
  }

  private static void awaitNone(EbbClient client) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.boxes().list(BoxQuery.all()).isEmpty());
  }

  @Test
  void aRepeatedRemovalHasTheSameCertificate() throws Exception {
    EbbClient client = DAEMON.client();
    Box box = box(client, "again");
    Certificate first = client.boxes().remove(box.id(), true);

    assertThat(client.boxes().remove(box.id(), true).document()).isEqualTo(first.document());
    assertThat(client.boxes().remove("again", false).document()).isEqualTo(first.document());

    // The name is free, and means the new box as soon as there is one.
    Box next = box(client, "again");
    assertThat(client.boxes().remove("again", true).subject()).isEqualTo(next.id());
    assertThat(client.boxes().remove("again", true).subject()).isEqualTo(next.id());
    assertThat(client.boxes().remove(box.id(), true).subject()).isEqualTo(box.id());
  }

  @Test
  void otherRequestsLearnOfTheRemovalAndOtherTenantsDoNot() throws Exception {
    EbbClient a = DAEMON.client(DAEMON.key("--tenant", "a"));
    EbbClient b = DAEMON.client(DAEMON.key("--tenant", "b"));
    Box box = box(a, "mine");
    a.boxes().remove("mine", true);

    EbbException gone = catchThrowableOfType(EbbException.class, () -> a.boxes().inspect(box.id()));
    assertThat(gone.status()).isEqualTo(404);
    assertThat(gone.detail()).contains("it was removed at 20");
    assertThat(refused(b, box.id()).detail()).isEqualTo("no box \"" + box.id() + "\"");
    assertThat(refused(b, "mine").detail()).isEqualTo("no box \"mine\"");
    assertThat(refused(a, "never").status()).isEqualTo(404);
    assertThat(DAEMON.client().boxes().remove(box.id(), true).subject()).isEqualTo(box.id());
  }

  @Test
  void theCommandSucceedsAgainToo() throws Exception {
    Ebb ebb = DAEMON.ebb();
    ebb.call("create", "--name", "twice");
    var first = ebb.call("rm", "-f", "twice");
    var second = ebb.call("rm", "-f", "twice");
    var third = ebb.call("rm", "twice");
    assertThat(List.of(first.code(), second.code(), third.code())).containsOnly(0);
    assertThat(second.text()).isEqualTo(first.text());
    assertThat(third.text()).isEqualTo(first.text());

    var unknown = ebb.call("rm", "never");
    assertThat(unknown.code()).isEqualTo(125);
    var forced = ebb.call("rm", "-f", "never");
    assertThat(forced.code()).isZero();
    assertThat(forced.stderr()).startsWith("ebb: no box \"never\"");
  }

  @Test
  void anEndNeedNotBeWaitedFor() throws Exception {
    EbbClient client = DAEMON.client();
    Box box = box(client, "slow");
    Exec exec = stubborn(client, box);

    assertThat(client.execs(box.id()).beginKill(exec.number(), LONG_GRACE).hasEnded()).isFalse();
    assertThat(client.boxes().beginKillAll(box.id(), LONG_GRACE))
        .singleElement()
        .matches(each -> !each.hasEnded());
    assertThat(client.boxes().beginStop(box.id(), LONG_GRACE).state()).isNotEqualTo(BoxState.GONE);
    assertThat(client.boxes().inspect(box.id()).state()).isNotEqualTo(BoxState.GONE);
    // A removal does not wait for the grace of the stop before it.
    assertThat(client.boxes().beginRemove(box.id())).isEqualTo(box.id());
    assertThat(client.boxes().remove(box.id(), true).clean()).isTrue();
    awaitNone(client);
  }

  @Test
  void theCommandNeedNotWaitEither() throws Exception {
    EbbClient client = DAEMON.client();
    Box box = box(client, "slow");
    String exec = Long.toString(stubborn(client, box).number());
    Ebb ebb = DAEMON.ebb();

    assertThat(ebb.call("kill", "--no-wait", "--grace", "10m", "slow", exec).code()).isZero();
    assertThat(ebb.call("kill-all", "--no-wait", "--grace", "10m", "slow").code()).isZero();
    assertThat(ebb.call("stop", "--no-wait", "--grace", "10m", "slow").code()).isZero();
    assertThat(client.boxes().inspect("slow").runningExecs()).isOne();
    assertThat(ebb.call("rm", "-f", "--no-wait", "slow").text()).isEqualTo("slow\n");
    awaitNone(client);
    assertThat(ebb.call("rm", "slow").text()).startsWith(box.id() + ": released");
  }

  @Test
  void anAgentNeedNotWaitAndMayRepeatIt() throws Exception {
    var wire = new McpWire(DAEMON.uri(), DAEMON.key("--tenant", "agent"));
    String session = wire.begin();
    String made = wire.post(session, call("create_box", "\"name\":\"work\"")).body();
    assertThat(made).contains("made box");

    String begun = wire.post(session, call("remove_box", "\"box\":\"work\",\"wait\":false")).body();
    assertThat(begun).contains("is being removed").contains("\"isError\":false");
    for (int i = 0; i < 2; i++) {
      String again = wire.post(session, call("remove_box", "\"box\":\"work\"")).body();
      assertThat(again).contains("\"clean\":true").contains("\"isError\":false");
    }
    wire.post(session, call("start_process", "\"command\":\"trap '' TERM; sleep 1000\""));
    String killed =
        wire.post(
                session, call("kill_process", "\"process\":1,\"graceMillis\":60000,\"wait\":false"))
            .body();
    assertThat(killed).contains("\"state\":\"running\"");
    assertThat(wire.end(session)).isEqualTo(204);
  }

  private static String call(String tool, String arguments) {
    return """
        {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"%s","arguments":{%s}}}"""
        .formatted(tool, arguments);
  }
}
