package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The events that a daemon publishes. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonEventsAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private static List<BoxEvent> untilGone(BoxEvents events, String name) throws IOException {
    var seen = new ArrayList<BoxEvent>();
    do {
      seen.add(events.next());
    } while (!name.equals(seen.getLast().name()) || !"gone".equals(seen.getLast().state()));
    return seen;
  }

  /** Runs one box from its beginning to its end. */
  private static void live(EbbClient client, String name) throws IOException {
    client.boxes().create(BoxRequest.defaults().withName(name));
    client.execs(name).run(ExecRequest.of("sh", "-c", "exit 4"));
    assertThat(client.boxes().remove(name, true).clean()).isTrue();
  }

  private static List<String> told(List<BoxEvent> events) {
    return events.stream()
        .map(event -> event.kind() + " " + event.name() + " " + event.state())
        .toList();
  }

  private static List<String> life(String name) {
    return List.of(
        "box " + name + " running",
        "exec " + name + " running",
        "exec " + name + " ended",
        "box " + name + " stopping",
        "box " + name + " gone");
  }

  @Test
  void aLifeIsPublishedInOrderAndAReturningClientGetsTheRest() throws Exception {
    EbbClient client = daemon.client();
    List<BoxEvent> all;
    try (BoxEvents events = client.events()) {
      live(client, "one");
      all = untilGone(events, "one");
    }
    assertThat(told(all)).containsSubsequence(life("one")).doesNotHaveDuplicates();
    BoxEvent ended = all.get(told(all).indexOf("exec one ended"));
    assertThat(ended.exec()).isEqualTo(1);
    assertThat(ended.exitCode()).isEqualTo(4);
    assertThat(ended.status()).isEqualTo("exited");

    live(client, "two");
    // Of the events that are over by now, a client may read all, some, or none.
    try (BoxEvents events = client.eventsAfter("0")) {
      assertThat(told(untilGone(events, "two"))).containsAll(life("one")).containsAll(life("two"));
    }
    try (BoxEvents events = client.eventsAfter(ended.id())) {
      var rest = told(untilGone(events, "two"));
      assertThat(rest).startsWith("box one stopping", "box one gone").containsAll(life("two"));
    }
    try (BoxEvents events = client.events()) {
      live(client, "three");
      assertThat(told(untilGone(events, "three"))).allMatch(told -> told.contains(" three "));
    }
  }

  /** The event numbers of the next daemon are higher: events in between count as missed. */
  @Test
  void aFollowerOfAnEarlierDaemonReceivesTheGapAndGoesOn() throws Exception {
    String seen;
    EbbClient client = daemon.client();
    try (BoxEvents events = client.events()) {
      live(client, "before");
      seen = untilGone(events, "before").getLast().id();
    }
    assertThat(daemon.stop()).isZero();
    daemon.start();
    EbbClient next = daemon.client();
    live(next, "after");
    try (BoxEvents events = next.eventsAfter(seen)) {
      var told = untilGone(events, "after");
      assertThat(told.getFirst().kind()).isEqualTo("gap");
      assertThat(told(told)).containsAll(life("after"));
    }
  }
}
