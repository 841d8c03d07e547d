package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The records of boxes that ended with the previous daemon. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonRecordsAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private Box make(String name) throws Exception {
    return daemon.client().boxes().create(BoxRequest.defaults().withName(name));
  }

  private List<String> listed() throws Exception {
    return daemon.client().boxes().list(BoxQuery.all()).stream().map(Box::id).toList();
  }

  @Test
  void anAttachedBoxStaysInTheHistoryAfterARestart() throws Exception {
    Box stopped = make("stopped");
    EbbClient client = daemon.client();
    client.execs(stopped.id()).run(ExecRequest.of("sh", "-c", "echo words; exit 3"));
    client.boxes().stop(stopped.id(), Duration.ZERO);
    Box lost = make("lost");
    daemon.kill();
    daemon.start();

    assertThat(listed()).containsExactly(stopped.id(), lost.id());
    Box first = daemon.client().boxes().inspect("stopped");
    assertThat(first.state()).isEqualTo(BoxState.GONE);
    assertThat(first.endedBy()).isEqualTo("request");
    assertThat(first.certificate()).isNotNull();
    var exec = daemon.client().execs(stopped.id()).inspect(1);
    assertThat(exec.exitCode()).isEqualTo(3);
    Box second = daemon.client().boxes().inspect("lost");
    assertThat(second.endedBy()).isEqualTo("daemon");
    String endedAt = second.document().string("endedAt");

    // Its name is free, and the time of its end does not change.
    Box heir = make("lost");
    daemon.kill();
    daemon.start();
    assertThat(listed()).containsExactly(stopped.id(), lost.id(), heir.id());
    assertThat(daemon.client().boxes().inspect(lost.id()).document().string("endedAt"))
        .isEqualTo(endedAt);
    for (String box : listed()) {
      assertThat(daemon.client().boxes().remove(box, false).clean()).isTrue();
      assertThat(daemon.client().boxes().remove(box, true).clean()).as("again").isTrue();
    }
    daemon.kill();
    daemon.start();
    assertThat(listed()).isEmpty();
  }

  @Test
  void aHistoryThatCannotBeReadKeepsNoDaemon() throws Exception {
    Box box = make("box");
    daemon.kill();
    var history = daemon.home().resolve("history");
    assertThat(history).isNotEmptyFile();
    Files.delete(history);
    Files.createDirectory(history);
    daemon.start();
    assertThat(listed()).isEmpty();
    Box next = make("next");
    daemon.client().boxes().stop(next.id(), Duration.ZERO);
    assertThat(listed()).containsExactly(next.id());
    assertThat(history).isEmptyDirectory();
    Files.delete(history);
    assertThat(daemon.client().boxes().remove(next.id(), false).clean()).isTrue();
    assertThat(listed()).doesNotContain(box.id());
  }
}
