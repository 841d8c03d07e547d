package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.client.BoxEvent;
import dev.ebb.client.BoxEvents;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Quota;
import dev.ebb.client.Release;
import dev.ebb.client.Result;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A run is answered first, and its box is released and certified after that. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonAnswerAcceptanceTest {
  private static final ExecRequest TRUE = ExecRequest.of("true");

  /** One tenant alone may have half of the backlog. */
  private static final int SHARE = 16;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private static String released(Result result) throws IOException {
    return result.exec().document().string("released");
  }

  private void restart(String fault) throws Exception {
    daemon.stop();
    daemon.start(Map.of("JAVA_TOOL_OPTIONS", "-Debb.fault=" + fault));
  }

  private static Release await(EbbClient client, Result result) throws IOException {
    return client.awaitRelease(result.exec().box(), DaemonProcess.PATIENCE);
  }

  private static void assertClean(Release release) {
    assertThat(release.released()).isEqualTo("done");
    assertThat(requireNonNull(release.certificate()).clean()).isTrue();
  }

  @Test
  void theCertificateComesAfterTheAnswerAndWithTheLastEvent() throws Exception {
    restart("REMOVE_CGROUPS:slow#300");
    EbbClient client = daemon.client();
    try (BoxEvents events = client.events()) {
      Result result = client.run(BoxRequest.defaults(), TRUE);
      assertThat(released(result)).isEqualTo("pending");
      assertThat(client.release(result.exec().box()).isPending()).isTrue();
      Release release = await(client, result);
      assertClean(release);
      BoxEvent last = events.next();
      while (!"gone".equals(last.state())) {
        last = events.next();
      }
      assertThat(last.box()).isEqualTo(result.exec().box());
      assertThat(last.document().object("certificate"))
          .isEqualTo(requireNonNull(release.certificate()).document());
      assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
    }
  }

  @Test
  void oneThatWaitsGetsTheCertificate() throws Exception {
    Result result = daemon.client().runAndRelease(BoxRequest.defaults(), TRUE);
    assertThat(released(result)).isEqualTo("done");
    assertThat(result.certificate()).isEqualTo(await(daemon.client(), result).certificate());
    assertThat(Wire.ask(daemon.uri(), "POST", "/v1/run?certificate=no", "{}", bearer()).status())
        .isEqualTo(400);
  }

  private String bearer() throws Exception {
    return "Authorization: Bearer " + daemon.key();
  }

  @Test
  void theNextDaemonHasTheCertificateAndItsRemovalIsRepeated() throws Exception {
    Result result = daemon.client().run(BoxRequest.defaults(), TRUE);
    Release before = await(daemon.client(), result);
    assertThat(daemon.stop()).isZero();
    daemon.start();
    assertThat(daemon.client().release(before.box()).document()).isEqualTo(before.document());
    assertThat(daemon.client().boxes().remove(before.box(), true)).isEqualTo(before.certificate());
  }

  @Test
  void aDaemonThatEndsReleasesWhatItHasAnswered() throws Exception {
    restart("REMOVE_CGROUPS:slow#500");
    Result result = daemon.client().run(BoxRequest.defaults(), TRUE);
    assertThat(released(result)).isEqualTo("pending");
    assertThat(daemon.stop()).isZero();
    daemon.start();
    Release release = daemon.client().release(result.exec().box());
    assertClean(release);
    assertThat(release.document().has("recovered")).isFalse();
  }

  @Test
  void theNextDaemonCertifiesWhatTheLastHadAnsweredWhenItWasKilled() throws Exception {
    restart("RELEASE_ANSWERED:crash");
    Result result = daemon.client().run(BoxRequest.defaults(), TRUE);
    assertThat(released(result)).isEqualTo("pending");
    assertThat(daemon.process().waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .isTrue();
    daemon.start();
    Release release = daemon.client().release(result.exec().box());
    assertClean(release);
    assertThat(release.document().isTrue("recovered")).isTrue();
    assertThat(requireNonNull(release.certificate()).released()).containsKeys("cgroup", "user");
  }

  @Test
  void anotherTenantDoesNotSeeIt() throws Exception {
    EbbClient one = daemon.client(daemon.key("--tenant", "one"));
    EbbClient other = daemon.client(daemon.key("--tenant", "other"));
    var named = BoxRequest.defaults().withName("mine");
    Result result = one.run(named, TRUE);
    assertClean(await(one, result));
    assertThat(one.release("mine").box()).isEqualTo(result.exec().box());
    for (String word : List.of(result.exec().box(), "mine", "b000000000000")) {
      assertThatThrownBy(() -> other.release(word))
          .isInstanceOf(NotFoundException.class)
          .hasMessageContaining("no box \"" + word + "\"");
    }
    assertClean(daemon.client().release(result.exec().box()));
  }

  @Test
  void theNameAndTheQuotaOfAnAnsweredRunAreFree() throws Exception {
    restart("REMOVE_CGROUPS:slow#300");
    EbbClient client = daemon.client(daemon.key("--tenant", "small"));
    daemon.client().setQuota("small", new Quota(1L, null, null, null, null, null));
    var named = BoxRequest.defaults().withName("again");
    for (int i = 0; i < 3; i++) {
      assertThat(client.run(named, TRUE).exec().exitCode()).isZero();
    }
  }

  @Test
  void aFloodOfOneTenantIsHeldBackAndAnotherIsNot() throws Exception {
    restart("REMOVE_CGROUPS:slow#400");
    EbbClient flood = daemon.client(daemon.key("--tenant", "flood"));
    EbbClient other = daemon.client(daemon.key("--tenant", "other"));
    Callable<String> run = () -> released(flood.run(BoxRequest.defaults(), TRUE));
    try (var threads = Executors.newFixedThreadPool(30)) {
      var answers = new ArrayList<Future<String>>();
      for (int i = 0; i < 90; i++) {
        answers.add(threads.submit(run));
      }
      long most = 0;
      while (!answers.getLast().isDone()) {
        most = Math.max(most, daemon.gauge("ebb_releases_aside"));
        if (most >= SHARE - 1) {
          assertThat(released(other.run(BoxRequest.defaults(), TRUE))).isEqualTo("pending");
          break;
        }
      }
      while (!answers.getLast().isDone()) {
        most = Math.max(most, daemon.gauge("ebb_releases_aside"));
      }
      var said = new ArrayList<String>();
      for (Future<String> answer : answers) {
        said.add(answer.get());
      }
      assertThat(said).containsOnly("pending", "done").contains("pending", "done");
      assertThat(most).isBetween(SHARE - 1L, SHARE + 1L);
    }
  }
}
