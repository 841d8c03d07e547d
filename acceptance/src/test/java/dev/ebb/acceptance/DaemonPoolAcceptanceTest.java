package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Code;
import dev.ebb.client.CodeResult;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Output;
import dev.ebb.client.Result;
import dev.ebb.json.JsonObject;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A daemon with a warm pool. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonPoolAcceptanceTest {
  private static final ExecRequest SUM = ExecRequest.of("python3", "-c", "print(1 + 1)");

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--pool",
          "fixed",
          "--pool-min",
          "2",
          "--pool-max",
          "4",
          "--pool-interpreters",
          "python3:2");

  private static JsonObject kind(EbbClient client, int number) throws IOException {
    return client.pool().objects("kinds").get(number);
  }

  private static void awaitFull(EbbClient client) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> kind(client, 0).number("size") >= 2 && kind(client, 1).number("size") >= 1);
  }

  @Test
  void runsTakeWarmBoxesAndLeaveNothing() throws Exception {
    EbbClient client = daemon.client();
    awaitFull(client);
    Result plain = client.runAndRelease(BoxRequest.defaults(), ExecRequest.of("echo", "fine"));
    assertThat(plain.stdout().text()).isEqualTo("fine\n");
    assertThat(plain.certificate()).isNotNull();
    assertThat(kind(client, 0).number("hits")).isEqualTo(1);
    Result sum = client.runAndRelease(BoxRequest.defaults(), SUM);
    assertThat(sum.stdout().text()).isEqualTo("2\n");
    assertThat(kind(client, 1).number("hits")).isEqualTo(1);
    assertThat(client.boxes().list(BoxQuery.all()))
        .as("boxes that wait in the pool belong to no tenant")
        .isEmpty();
    assertThat(daemon.ebb().call("pool").text()).contains("python3");
    assertThat(daemon.ebb().call("pool", "--json").text()).contains("\"kinds\"");
  }

  /** A warm interpreter behaves like a new one: files in and out, arguments, stdin, failures. */
  @Test
  void codeTakesAnInterpreterThatWaited() throws Exception {
    EbbClient client = daemon.client();
    awaitFull(client);
    CodeResult result =
        client.runAndRelease(
            Code.of(
                    "python",
                    """
                    import sys, data
                    print(sys.argv, input(), data.x, __file__)
                    open('out.txt', 'w').write('hi')
                    open('data.py', 'a').write('y = 2')
                    """)
                .withFile("data.py", Output.of("x = 1\n"))
                .withFile("same.txt", Output.of("as it was"))
                .withArguments("a")
                .withStdin(Output.of("line\n"))
                .withOutputs("*.txt"));
    assertThat(result.outcome()).as(result.document().toString()).isEqualTo("ok");
    assertThat(result.stdout().text()).isEqualTo("['main.py', 'a'] line 1 /workspace/main.py\n");
    assertThat(result.files())
        .extracting(CodeResult.File::path)
        .as("only the files that changed")
        .containsExactlyInAnyOrder("out.txt", "data.py");
    assertThat(requireNonNull(result.certificate()).clean()).isTrue();
    assertThat(kind(client, 1).number("hits")).as("it had waited").isEqualTo(1);
    awaitFull(client);
    CodeResult wrong = client.run(Code.of("python", "def (:"));
    assertThat(wrong.outcome()).isEqualTo("compile-error");
    assertThat(wrong.stderr().text()).contains("File \"/workspace/main.py\", line 1");
    assertThat(wrong.files()).isEmpty();
    assertThat(kind(client, 1).number("hits")).isEqualTo(2);
  }

  @Test
  void theBoxOfARunGoesAfterTheAnswer() throws Exception {
    EbbClient client = daemon.client();
    for (int i = 0; i < 20; i++) {
      Result run = client.run(BoxRequest.defaults(), ExecRequest.of("echo", "fine"));
      assertThat(run.stdout().text()).isEqualTo("fine\n");
      assertThat(run.certificate()).isNull();
    }
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.boxes().list(BoxQuery.all()).isEmpty());
  }

  /** The daemon ends only when its boxes are removed, and nothing is left. */
  @Test
  void itEndsWithBoxesThatGoAfterTheAnswer() throws Exception {
    EbbClient client = daemon.client();
    for (int i = 0; i < 5; i++) {
      client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    }
  }

  @Test
  void everyRunOfABurstIsServed() throws Exception {
    EbbClient client = daemon.client();
    awaitFull(client);
    var tasks = new ArrayList<Future<String>>();
    var ids = new HashSet<String>();
    try (var threads = Executors.newFixedThreadPool(25)) {
      for (int i = 0; i < 200; i++) {
        tasks.add(
            threads.submit(
                () -> {
                  Result run = client.run(BoxRequest.defaults(), SUM);
                  assertThat(run.stdout().text()).isEqualTo("2\n");
                  return run.exec().document().string("box");
                }));
      }
      for (Future<String> task : tasks) {
        ids.add(task.get());
      }
    }
    assertThat(ids).as("a box each").hasSize(200);
  }

  @Test
  void aDaemonKilledWithAFullPoolLeavesNothing() throws Exception {
    awaitFull(daemon.client());
    daemon.kill();
    daemon.start();
    awaitFull(daemon.client());
  }
}
