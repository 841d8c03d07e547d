package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The daemon from its start to its end. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonAcceptanceTest {
  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  @Test
  void aBoxLivesAndItsCommandsAnswer() throws Exception {
    EbbClient client = daemon.client();
    Box box = client.boxes().create(BoxRequest.defaults().withName("one"));
    var result =
        client.execs("one").run(ExecRequest.of("sh", "-c", "echo hi; echo no >&2; exit 3"));
    assertThat(result.stdout().text()).isEqualTo("hi\n");
    assertThat(result.stderr().text()).isEqualTo("no\n");
    assertThat(result.exec().exitCode()).isEqualTo(3);
    assertThat(client.boxes().remove(box.id(), true).clean()).isTrue();
    assertThat(daemon.threads()).isLessThanOrEqualTo(24);
  }
}
