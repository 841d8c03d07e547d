package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.CellRequest;
import dev.ebb.client.Certificate;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Offsets;
import dev.ebb.client.Output;
import dev.ebb.client.OutputStreamName;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Boxes that outlive their daemon, after kill -9 and after SIGTERM; and boxes that do not. */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class DaemonDetachedAcceptanceTest {
  private static final int EACH = 20;
  private static final int LINES = 3000;

  /** Some of it while no daemon is there. */
  private static final ExecRequest COUNTING =
      ExecRequest.of(
          "sh",
          "-c",
          "i=0; while [ $i -lt "
              + LINES
              + " ]; do echo line $i; i=$((i+1)); "
              + "[ $((i % 100)) = 0 ] && sleep 0.1; done; exit 7");

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private Box create(String name) throws IOException {
    return daemon.client().boxes().create(BoxRequest.defaults().withName(name).withDetached());
  }

  /** Every process of a box, by its host pid. */
  private List<Long> pids(String box) throws IOException {
    var pids = new ArrayList<Long>();
    for (var holding : daemon.client().boxes().inspect(box).document().objects("holdings")) {
      if (holding.string("kind").equals("process")) {
        pids.add(holding.number("pid"));
      }
    }
    return pids;
  }

  private static void awaitGone(Iterable<Long> pids) {
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () -> assertThat(pids).noneMatch(pid -> Files.exists(Path.of("/proc/" + pid))));
  }

  @Test
  void aCommandGetsAllOfItsInputThoughItsDaemonDies() throws Exception {
    create("box");
    byte[] input = new byte[1 << 20];
    var request =
        ExecRequest.of("sh", "-c", "until [ -e go ]; do sleep 0.02; done; wc -c")
            .withInput(Output.of(input));
    long number = daemon.client().execs("box").start(request).number();
    daemon.kill();
    daemon.start();
    var execs = daemon.client().execs("box");
    execs.run(ExecRequest.of("touch", "go"));
    assertThat(execs.await(number).exitCode()).isZero();
    try (var stdout = execs.output(number, OutputStreamName.STDOUT, 0)) {
      assertThat(stdout.readAllBytes()).asString().isEqualTo(input.length + "\n");
    }
    assertThat(daemon.client().boxes().remove("box", true).clean()).isTrue();
  }

  @Test
  void aContextEndsWithItsDaemonAndTheNextOneSaysSo() throws Exception {
    create("box");
    var contexts = daemon.client().contexts("box");
    contexts.create(ContextRequest.of("python").withName("idle"));
    String busy = contexts.create(ContextRequest.of("python")).id();
    contexts.run(busy, CellRequest.of("import subprocess\nsubprocess.Popen(['sleep', '1000'])"));
    try (var cell = contexts.runAndFollow(busy, CellRequest.of("while True: pass"))) {
      assertThat(cell.next()).isPresent();
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> contexts.inspect(busy).state().equals("busy"));
      // Without cgroups each of the interpreters has a subreaper.
      int subreapers = Feature.CGROUPS.isPresent() ? 0 : 2;
      assertThat(pids("box"))
          .as("init, two interpreters, and what a cell left")
          .hasSize(4 + subreapers);
      daemon.kill();
      daemon.start();
      await().atMost(DaemonProcess.PATIENCE).until(() -> pids("box").size() == 1);
    }
    var next = daemon.client().contexts("box");
    assertThat(next.list()).isEmpty();
    var gone = catchThrowableOfType(EbbException.class, () -> next.inspect("idle"));
    assertThat(gone.status()).isEqualTo(404);
    assertThat(gone.detail()).contains("ends with its box, or with the daemon");
    String again = next.create(ContextRequest.of("python")).id();
    assertThat(next.run(again, CellRequest.of("print(1)")).stdout().text()).isEqualTo("1\n");
    assertThat(daemon.client().boxes().remove("box", true).clean()).isTrue();
  }

  @Test
  void aBoxWithAnUnreadableRecordIsListedAndCanBeRemoved() throws Exception {
    Box odd = create("odd");
    daemon.client().execs("odd").start(ExecRequest.of("sleep", "1000"));
    List<Long> pids = pids("odd");
    daemon.kill();
    try (var records = Files.find(daemon.home(), 4, (path, _) -> path.endsWith("record"))) {
      Files.writeString(records.findFirst().orElseThrow(), "nonsense");
    }
    daemon.start();
    EbbClient next = daemon.client();
    assertThat(next.boxes().inspect(odd.id()).state()).isEqualTo(BoxState.UNREACHABLE);
    assertThat(daemon.ebb().call("ls").text()).contains(odd.id(), "unreachable");
    assertThat(pids).allMatch(pid -> Files.exists(Path.of("/proc/" + pid)));
    assertThat(next.sweep(false).findings()).isEmpty();
    assertThat(next.boxes().remove(odd.id(), true).clean()).isTrue();
    awaitGone(pids);
  }

  @Test
  void aKilledDaemonLosesNothingOfTwentyAndLeavesNothingOfTwentyOthers() throws Exception {
    EbbClient client = daemon.client();
    var living = new TreeMap<String, List<Long>>();
    var attached = new ArrayList<Long>();
    for (int i = 0; i < EACH; i++) {
      create("stays" + i);
      client.execs("stays" + i).start(COUNTING);
      client.boxes().create(BoxRequest.defaults().withName("goes" + i));
      client.execs("goes" + i).start(ExecRequest.of("sleep", "1000"));
    }
    for (int i = 0; i < EACH; i++) {
      living.put("stays" + i, pids("stays" + i));
      attached.addAll(pids("goes" + i));
    }
    daemon.kill();
    awaitGone(attached);

    daemon.start();
    EbbClient next = daemon.client();
    assertThat(living(next))
        .extracting(Box::name)
        .containsExactlyInAnyOrderElementsOf(living.keySet());
    String all =
        LongStream.range(0, LINES).mapToObj(i -> "line " + i + "\n").collect(Collectors.joining());
    for (String name : living.keySet()) {
      Exec ended = next.execs(name).await(1);
      assertThat(ended.exitCode()).isEqualTo(7);
      var seen = Followed.all(next.execs(name).follow(1, Offsets.START));
      assertThat(new String(seen.stdout(), UTF_8)).isEqualTo(all);
      assertThat(next.boxes().remove(name, true).clean()).isTrue();
      awaitGone(living.get(name));
    }
    assertThat(living(next)).isEmpty();
    assertThat(next.boxes().list(BoxQuery.all()))
        .extracting(Box::endedBy)
        .hasSize(EACH)
        .containsOnly("daemon");
  }

  /** The boxes that are not only in the history. */
  private static List<Box> living(EbbClient client) throws IOException {
    return client.boxes().list(BoxQuery.all()).stream()
        .filter(box -> box.state() != BoxState.GONE)
        .toList();
  }

  @Test
  void itIsTheSameBoxAfterwards() throws Exception {
    EbbClient client = daemon.client();
    var request =
        BoxRequest.defaults()
            .withName("same")
            .withLabel("k", "v")
            .withTtl(Duration.ofHours(1))
            .withDetached();
    Box before = client.boxes().create(request, "key");
    client.files("same").write("/workspace/kept", "content".getBytes(UTF_8));
    Exec ended = client.execs("same").run(ExecRequest.of("false")).exec();
    assertThat(ended.exitCode()).isEqualTo(1);
    assertThat(daemon.stop()).isZero();

    daemon.start();
    EbbClient next = daemon.client();
    Box after = next.boxes().inspect("same");
    assertThat(after.id()).isEqualTo(before.id());
    assertThat(after.state()).isEqualTo(BoxState.RUNNING);
    for (String field :
        List.of("labels", "limits", "ttlMillis", "createdAt", "expiresAt", "network")) {
      assertThat(after.document().members().get(field))
          .as(field)
          .isEqualTo(before.document().members().get(field));
    }
    assertThat(next.boxes().create(request, "key").id()).isEqualTo(before.id());
    Exec known = next.execs("same").inspect(ended.number());
    assertThat(known.exitCode()).isEqualTo(1);
    Instant at = Objects.requireNonNull(ended.endedAt());
    assertThat(known.endedAt()).isBetween(at.minusMillis(1), at.plusMillis(1));
    var read = next.execs("same").run(ExecRequest.of("cat", "kept"));
    assertThat(new String(read.stdout().bytes(), UTF_8)).isEqualTo("content");
    assertThat(next.boxes().remove("same", true).clean()).isTrue();
  }

  @Test
  void aPausedOneIsFoundPausedAndCanBeEnded() throws Exception {
    TestHost.require(Feature.CGROUPS);
    EbbClient client = daemon.client();
    create("still");
    client.execs("still").start(ExecRequest.of("sleep", "1000"));
    List<Long> pids = pids("still");
    client.boxes().pause("still");
    daemon.kill();

    daemon.start();
    assertThat(daemon.client().boxes().inspect("still").state()).isEqualTo(BoxState.PAUSED);
    assertThat(daemon.client().boxes().remove("still", true).clean()).isTrue();
    awaitGone(pids);
  }

  @Test
  void aStoppedBoxIsStillReadAndRemovedAfterwards() throws Exception {
    EbbClient client = daemon.client();
    create("done");
    client.execs("done").run(ExecRequest.of("echo", "words"));
    Box ended = client.boxes().stop("done", Duration.ZERO);
    daemon.kill();

    daemon.start();
    EbbClient next = daemon.client();
    Box found = next.boxes().inspect("done");
    assertThat(found.state()).isEqualTo(BoxState.GONE);
    assertThat(found.endedBy()).isEqualTo("request");
    Certificate proof = Objects.requireNonNull(ended.certificate());
    assertThat(proof.released()).isNotEmpty();
    assertThat(found.certificate()).isEqualTo(proof);
    assertThat(
            new String(Followed.all(next.execs("done").follow(1, Offsets.START)).stdout(), UTF_8))
        .isEqualTo("words\n");
    assertThat(next.boxes().stop("done", Duration.ZERO).state()).isEqualTo(BoxState.GONE);
    assertThat(next.boxes().remove("done", false).clean()).isTrue();
    assertThat(next.boxes().create(BoxRequest.defaults().withName("done")).name())
        .isEqualTo("done");
    next.boxes().remove("done", true);
  }

  @Test
  void aBoxWithAnInitThatDiedMeanwhileIsFoundDead() throws Exception {
    EbbClient client = daemon.client();
    create("dead");
    client.execs("dead").start(ExecRequest.of("sh", "-c", "echo words; exec sleep 1000"));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs("dead").inspect(1).stdoutBytes() > 0);
    List<Long> pids = pids("dead");
    daemon.kill();
    pids.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
    awaitGone(pids);

    daemon.start();
    EbbClient next = daemon.client();
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> next.boxes().inspect("dead").state() == BoxState.GONE);
    Exec lost = next.execs("dead").await(1, DaemonProcess.PATIENCE);
    assertThat(lost.status()).isEqualTo("lost");
    assertThat(
            new String(Followed.all(next.execs("dead").follow(1, Offsets.START)).stdout(), UTF_8))
        .isEqualTo("words\n");
    assertThat(next.boxes().remove("dead", false).clean()).isTrue();
  }

  @Test
  void aBoxThatEndsWithItsCommandOutlivesTheDaemonButNotTheCommand() throws Exception {
    EbbClient client = daemon.client();
    for (String name : List.of("later", "meanwhile")) {
      client.start(BoxRequest.defaults().withName(name), ExecRequest.of("sleep", "1000"));
    }
    List<Long> all = Stream.concat(pids("later").stream(), pids("meanwhile").stream()).toList();
    List<Long> command = client.execs("meanwhile").list().getFirst().pids();
    daemon.kill();
    assertThat(all).allMatch(pid -> Files.exists(Path.of("/proc/" + pid)));
    command.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
    awaitGone(command);

    daemon.start();
    EbbClient next = daemon.client();
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(
            () ->
                next.boxes().list(BoxQuery.all()).stream()
                    .allMatch(box -> "later".equals(box.name())));
    assertThat(next.boxes().inspect("later").state()).isEqualTo(BoxState.RUNNING);
    next.execs("later").kill(next.execs("later").list().getFirst().number(), Duration.ZERO);
    await().atMost(DaemonProcess.PATIENCE).until(() -> next.boxes().list(BoxQuery.all()).isEmpty());
    awaitGone(all);
  }

  @Test
  @Tag("long")
  void itsTimeIsUpWithoutADaemonToo() throws Exception {
    EbbClient client = daemon.client();
    client
        .boxes()
        .create(
            BoxRequest.defaults().withName("brief").withTtl(Duration.ofMillis(500)).withDetached());
    client.execs("brief").start(ExecRequest.of("sleep", "1000"));
    List<Long> pids = pids("brief");
    daemon.kill();
    awaitGone(pids);
    daemon.start();
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> daemon.client().boxes().inspect("brief").state() == BoxState.GONE);
    assertThat(daemon.client().boxes().inspect("brief").document().string("endedBy"))
        .isEqualTo("ttl");
    daemon.client().boxes().remove("brief", false);
  }

  @Test
  void purgeTakesItAlong() throws Exception {
    create("last");
    List<Long> pids = pids("last");
    daemon.kill();
    var purge = daemon.ebb().call("purge", "--yes");
    assertThat(purge.code()).as(purge.stderr()).isZero();
    awaitGone(pids);
    daemon.start();
  }
}
