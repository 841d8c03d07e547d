package dev.ebb.acceptance;

import static dev.ebb.acceptance.NameHistory.absent;
import static dev.ebb.acceptance.NameHistory.beginEnd;
import static dev.ebb.acceptance.NameHistory.end;
import static dev.ebb.acceptance.NameHistory.find;
import static dev.ebb.acceptance.NameHistory.findOrRemember;
import static dev.ebb.acceptance.NameHistory.is;
import static dev.ebb.acceptance.NameHistory.made;
import static dev.ebb.acceptance.NameHistory.present;
import static dev.ebb.acceptance.NameHistory.reserve;
import static dev.ebb.acceptance.NameHistory.someBoxIsNot;
import static dev.ebb.acceptance.NameHistory.unlist;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.acceptance.NameHistory.Operation;
import dev.ebb.acceptance.NameHistory.Phase;
import dev.ebb.acceptance.NameHistory.Step;
import dev.ebb.acceptance.NameHistory.Verdict;
import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.ConflictException;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Result;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Many callers work with few names at once. Each answer is recorded with its times, and must be
 * possible for a single caller: of names, boxes and commands.
 */
@Tag("kernel")
@LeakChecked
@Timeout(600)
final class DaemonLinearAcceptanceTest {
  private static final long SEED = 20261118;
  private static final int CLIENTS = 16;
  private static final int NAMES = 5;
  private static final long MOMENTS = 2_000_000;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private final Map<String, Queue<Operation>> histories = new ConcurrentHashMap<>();
  private final Queue<String> wrong = new ConcurrentLinkedQueue<>();

  /** Boxes that a caller asked to end. */
  private final Set<String> ended = ConcurrentHashMap.newKeySet();

  /** Boxes that a caller removed while their commands ran. */
  private final Queue<String> killed = new ConcurrentLinkedQueue<>();

  @Test
  void answersAreThoseOfOneCallerAfterTheOther() throws Exception {
    check(40);
  }

  @Test
  @Tag("long")
  void answersAreThoseOfOneCallerAfterTheOtherForLonger() throws Exception {
    check(600);
  }

  /** With a key no look at the name comes before its reservation, which alone decides. */
  @Test
  void oneOfManyCreatesAtOnceGetsTheName() throws Exception {
    String key = "Authorization: Bearer " + daemon.key("--admin");
    for (int i = 0; i < NAMES; i++) {
      String body = "{\"name\":\"only%d\"}".formatted(i);
      var gate = new CyclicBarrier(CLIENTS);
      var answers = new ArrayList<Future<Integer>>();
      try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int client = 0; client < CLIENTS; client++) {
          String once = "Idempotency-Key: " + i + "-" + client;
          answers.add(
              threads.submit(
                  () -> {
                    gate.await(DaemonProcess.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                    return Wire.ask(daemon.uri(), "POST", "/v1/boxes", body, key, once).status();
                  }));
        }
      }
      var statuses = new ArrayList<Integer>();
      for (var answer : answers) {
        statuses.add(answer.get());
      }
      assertThat(statuses).containsOnly(201, 409).containsOnlyOnce(201);
    }
    for (Box box : daemon.client().boxes().list(BoxQuery.all())) {
      daemon.client().boxes().remove(box.id(), true);
    }
  }

  private void check(int each) throws Exception {
    EbbClient client = daemon.client();
    // All begin each round at once, most of them with one name: what comes apart, comes apart then.
    var round = new CyclicBarrier(CLIENTS);
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> all = new ArrayList<>();
      for (int number : IntStream.range(0, CLIENTS).toArray()) {
        all.add(
            threads.submit(
                () -> {
                  var random = new Random(SEED + number);
                  for (int i = 0; i < each; i++) {
                    round.await(DaemonProcess.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                    int name = random.nextInt(3) > 0 ? i % NAMES : random.nextInt(NAMES);
                    operate(client, random, "n" + name, number + "-" + i);
                  }
                  return null;
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
    }
    for (Box box : client.boxes().list(BoxQuery.all())) {
      client.boxes().remove(box.id(), true);
    }
    assertThat(wrong).as("answers that are never right").isEmpty();
    assertThat(killed).as("boxes whose commands were killed").allMatch(ended::contains);
    for (var history : histories.entrySet()) {
      var judgement = NameHistory.judge(List.copyOf(history.getValue()), MOMENTS);
      assertThat(judgement.verdict())
          .as("%s, seed %d: %s", history.getKey(), SEED, judgement.detail())
          .isEqualTo(Verdict.LINEARIZABLE);
    }
  }

  /** Returns the meaning of an answer: the steps that the call took. */
  private interface Call {
    List<Step> make() throws IOException;
  }

  private void operate(EbbClient client, Random random, String name, String token) {
    switch (random.nextInt(10)) {
      case 0, 1, 2 -> {
        var request = BoxRequest.defaults().withName(name);
        boolean isDetached = random.nextBoolean();
        record(
            name,
            "create",
            () -> created(client.boxes().create(isDetached ? request.withDetached() : request)),
            List.of(present()));
      }
      case 3, 4, 5, 6 -> {
        // More than is kept in memory, now and then.
        String more = random.nextInt(3) == 0 ? "; seq 3000" : "";
        var request = ExecRequest.of("sh", "-c", "echo " + token + more);
        record(
            name,
            "exec",
            () -> ran(client.execs(name).run(request), token),
            List.of(someBoxIsNot(Phase.RUNNING)));
      }
      case 7 ->
          record(
              name,
              "stop",
              () -> stopped(client.boxes().stop(name, Duration.ZERO)),
              List.of(present()));
      case 8 -> {
        boolean force = random.nextInt(3) > 0;
        record(
            name,
            "remove " + force,
            () -> removed(client.boxes().remove(name, force).subject(), force),
            // A box that is not gone, without force.
            List.of(someBoxIsNot(Phase.GONE)));
      }
      default ->
          record(name, "inspect", () -> seen(client.boxes().inspect(name)), List.of(present()));
    }
  }

  private void record(String name, String what, Call call, List<Step> conflict) {
    long begun = System.nanoTime();
    List<Step> steps;
    String answer;
    try {
      steps = call.make();
      answer = "200";
    } catch (NotFoundException e) {
      steps = List.of(absent());
      answer = "404 " + e.detail();
    } catch (ConflictException e) {
      steps = conflict;
      answer = "409 " + e.detail();
    } catch (EbbException e) {
      wrong.add(what + " " + name + ": " + e.status() + " " + e.code() + " " + e.detail());
      return;
    } catch (IOException e) {
      wrong.add(what + " " + name + ": " + e);
      return;
    }
    String text = what + " " + name + ": " + answer;
    histories
        .computeIfAbsent(name, _ -> new ConcurrentLinkedQueue<>())
        .add(new Operation(begun, System.nanoTime(), text, steps));
  }

  private static List<Step> created(Box box) {
    return List.of(reserve(box.id()), made(box.id()));
  }

  private List<Step> ran(Result result, String token) {
    String id = result.exec().box();
    String status = String.valueOf(result.exec().status());
    switch (status) {
      case "exited" -> {
        if (!result.stdout().text().startsWith(token + "\n")) {
          wrong.add("exec in " + id + " wrote another's: " + result.stdout().text());
        }
      }
      case "killed", "output-lost" -> killed.add(id);
      default -> wrong.add("exec in " + id + " is " + status);
    }
    return List.of(find(id), is(id, Phase.RUNNING));
  }

  private List<Step> stopped(Box box) {
    ended.add(box.id());
    return List.of(find(box.id()), beginEnd(box.id()), end(box.id()));
  }

  private List<Step> removed(String id, boolean force) {
    ended.add(id);
    return force
        ? List.of(findOrRemember(id), beginEnd(id), end(id), unlist(id))
        : List.of(findOrRemember(id), is(id, Phase.GONE), unlist(id));
  }

  private static List<Step> seen(Box box) {
    Phase phase = Phase.valueOf(box.state().name().toUpperCase(Locale.ROOT));
    return List.of(find(box.id()), is(box.id(), phase));
  }
}
