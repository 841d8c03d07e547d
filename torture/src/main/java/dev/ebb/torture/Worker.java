package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Following;
import dev.ebb.client.Limits;
import dev.ebb.client.NotFoundException;
import dev.ebb.client.Release;
import dev.ebb.kernel.Deadline;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Makes one box after the other, lets it work, ends it, and has it judged. */
final class Worker {
  private static final long MIB = 1 << 20;
  private static final Duration GRACE = Duration.ofMillis(100);
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

  private final ServedHome daemon;
  private final Judge judge;
  private final Tally tally;
  private final Chaos chaos;
  private final Round round;
  private final String where;

  /** The generation of the daemon that made the box, or of a later one. */
  private int generation;

  private final long began = System.nanoTime();
  private @Nullable String box;

  /** The life of the daemon that has removed it; none yet. */
  private int certifiedBy = -1;

  private Held held = Held.nothingOf("none");

  /** From now on it may be gone, even if the daemon dies. */
  private boolean ending;

  private Worker(ServedHome daemon, Judge judge, Tally tally, Chaos chaos, Round round) {
    this.daemon = daemon;
    this.judge = judge;
    this.tally = tally;
    this.chaos = chaos;
    this.round = round;
    where = "worker %d round %d".formatted(round.worker(), round.number());
    generation = daemon.generation();
  }

  /** Runs one round. At its end the box must be gone; if not, that is a violation. */
  static void run(ServedHome daemon, Judge judge, Tally tally, Chaos chaos, Round round)
      throws IOException {
    var worker = new Worker(daemon, judge, tally, chaos, round);
    try {
      worker.work();
    } catch (IOException e) {
      worker.refused(e);
      worker.cleanUp();
    }
  }

  /** Reports a failure of the test itself with its message, for it may be a defect. */
  private void refused(IOException e) {
    String word = "no answer";
    if (e instanceof EbbException refusal) {
      boolean isOwn = refusal.code().equals("internal");
      word = isOwn ? "internal: " + refusal.detail().replace(held.box(), "BOX") : refusal.code();
    }
    tally.count(Tally.Group.REFUSAL, word);
  }

  private Duration sinceBegin() {
    return Duration.ofNanos(System.nanoTime() - began);
  }

  private List<Exec> startAll(EbbClient client, String id) throws IOException {
    var execs = new ArrayList<Exec>();
    for (Workload workload : round.workloads()) {
      tally.count(Tally.Group.WORKLOAD, workload.wireName());
      execs.add(client.execs(id).start(command(workload)));
    }
    return execs;
  }

  private void work() throws IOException {
    EbbClient client = daemon.client();
    tally.count(Tally.Group.ENDING, round.ending().wireName());
    if (round.ending() == Ending.DISCONNECT) {
      hangUp(client);
      return;
    }
    if (round.ending() == Ending.ANSWER) {
      run(client);
      return;
    }
    Box made = client.boxes().create(request());
    generation = daemon.generation();
    box = made.id();
    held = Held.nothingOf(made.id());
    tally.count(Tally.Group.BOX, "made");
    List<Exec> execs = startAll(client, made.id());
    Deadline.never().pause(round.dwell());
    for (Act act : round.acts()) {
      act(client, made.id(), act, execs);
    }
    end(client, made.id(), execs);
  }

  private BoxRequest request() {
    var request =
        BoxRequest.defaults()
            .withName(round.name())
            .withLimits(new Limits(64 * MIB, round.pids(), 0.5, 8 * MIB));
    if (round.ending() == Ending.TIME_TO_LIVE) {
      request = request.withTtl(round.dwell().plusMillis(300));
    }
    return round.detached() ? request.withDetached() : request;
  }

  private ExecRequest command(Workload workload) {
    var request =
        ExecRequest.of(workload.command())
            .withGrace(GRACE)
            .withKeep(round.keeps())
            .withLimits(MIB, null, null);
    return round.ending() == Ending.TIME_OUT
        ? request.withTimeout(round.dwell().plusMillis(200))
        : request;
  }

  private void act(EbbClient client, String id, Act act, List<Exec> execs) throws IOException {
    tally.count(Tally.Group.ACT, act.wireName());
    long first = execs.getFirst().number();
    try {
      switch (act) {
        case LOOK -> client.boxes().inspect(id);
        case PAUSE_AND_RESUME -> {
          client.boxes().pause(id);
          client.boxes().resume(id);
        }
        case KILL_ONE -> client.execs(id).kill(first, GRACE);
        case SIGNAL_STOP -> client.execs(id).signal(first, "STOP");
        case FILES -> {
          client.files(id).write("/workspace/of-torture", "x".getBytes(StandardCharsets.UTF_8));
          client.files(id).list("/workspace");
        }
      }
    } catch (EbbException e) {
      // A full box, one that has ended, a host without pause: no reason to end the round.
      refused(e);
    }
  }

  // --- the end ---

  private void end(EbbClient client, String id, List<Exec> execs) throws IOException {
    switch (round.ending()) {
      case REMOVE, REMOVE_TWICE_AT_ONCE, ANSWER, DISCONNECT -> {}
      case REMOVE_PAUSED -> act(client, id, Act.PAUSE_AND_RESUME, execs);
      case STOP -> stop(client, id);
      case KILL_EACH -> killEach(client, id, execs);
      case KILL_ALL -> killAll(client, id);
      case TIME_OUT -> awaitExecs(client, id, execs);
      case TIME_TO_LIVE -> awaitGone(client, id);
    }
    look(client, id);
    if (round.ending() == Ending.REMOVE_PAUSED) {
      pause(client, id);
    }
    remove(id);
  }

  private void pause(EbbClient client, String id) throws IOException {
    try {
      client.boxes().pause(id);
    } catch (EbbException e) {
      refused(e);
    }
  }

  /** A repeated removal succeeds, with the same certificate. */
  private void stop(EbbClient client, String id) throws IOException {
    look(client, id);
    ending = true;
    Box stopped = client.boxes().stop(id, GRACE);
    Certificate certificate = stopped.certificate();
    boolean isClean = certificate != null && certificate.clean();
    tally.checked(Invariant.I12, where, Answers.stopAgain(client, id, GRACE));
    if (isClean) {
      tally.checked(Invariant.I13, where, Answers.record(client, stopped));
    }
  }

  private void killEach(EbbClient client, String id, List<Exec> execs) throws IOException {
    for (Exec exec : execs) {
      Exec ended = client.execs(id).kill(exec.number(), GRACE);
      requireEnded(ended);
      tally.checked(Invariant.I12, where, Answers.killAgain(client, exec, GRACE));
    }
  }

  private void killAll(EbbClient client, String id) throws IOException {
    client.boxes().killAll(id, GRACE).forEach(this::requireEnded);
  }

  private void awaitExecs(EbbClient client, String id, List<Exec> execs) throws IOException {
    for (Exec exec : execs) {
      requireEnded(client.execs(id).await(exec.number(), PATIENCE));
    }
  }

  private void requireEnded(Exec exec) {
    String status = exec.status();
    tally.count(Tally.Group.CAUSE, status == null ? "none" : status);
    if (!exec.hasEnded()) {
      String what = "command %d of %s has not ended".formatted(exec.number(), exec.box());
      tally.broken(Invariant.I12, what, where);
    }
  }

  private void awaitGone(EbbClient client, String id) throws IOException {
    look(client, id);
    ending = true;
    Deadline deadline = Deadline.in(PATIENCE);
    while (!client.boxes().inspect(id).state().isOver()) {
      if (!deadline.pause(LOOK_AGAIN)) {
        tally.broken(Invariant.I3, id + " outlives its time to live", where);
        return;
      }
    }
  }

  /** RACE: what the box made since the last look is found by its id. */
  private void look(EbbClient client, String id) throws IOException {
    Box now = client.boxes().inspect(id);
    if (!now.holdings().isEmpty() && now.state() != BoxState.GONE) {
      held = Held.of(now);
    }
  }

  /** Removes it until it is gone: a stuck box is tried again. */
  private void remove(String id) throws IOException {
    ending = true;
    Deadline deadline = Deadline.in(PATIENCE);
    while (!isRemoved(id)) {
      if (deadline.isOver()) {
        tally.broken(Invariant.I12, id + " cannot be removed", where);
        return;
      }
      tally.count(Tally.Group.BOX, "tried again");
      deadline.pause(LOOK_AGAIN);
    }
    judge.gone(held, where, patience());
    if (certifiedBy == daemon.generation()) {
      requireRemovedAgain(id);
    }
  }

  /** RACE: the next daemon does not know it, and may come at any moment. */
  private void requireRemovedAgain(String id) throws IOException {
    List<Trace> wrong = Answers.removeAgain(daemon.client(), id);
    if (certifiedBy == daemon.generation()) {
      tally.checked(Invariant.I12, where, wrong);
    }
  }

  /** A certificate of the daemon that made the box must be true at once. */
  private Duration patience() {
    return daemon.generation() == generation ? Duration.ZERO : PATIENCE;
  }

  private boolean isRemoved(String id) throws IOException {
    EbbClient client = daemon.client();
    Optional<Thread> other = Optional.empty();
    if (round.ending() == Ending.REMOVE_TWICE_AT_ONCE) {
      other = Optional.of(Thread.ofVirtual().name("torture-twice").start(() -> removeToo(id)));
    }
    int asking = daemon.generation();
    long asked = System.nanoTime();
    try {
      Certificate certificate = client.boxes().remove(id, true);
      if (certificate.clean()) {
        tally.count(Tally.Group.BOX, "certified");
        certifiedBy = asking;
        tally.gone(held.size(), Duration.ofNanos(System.nanoTime() - asked));
        tally.checked(Invariant.I13, where, Answers.time(certificate, sinceBegin()));
      }
      return certificate.clean();
    } catch (NotFoundException e) {
      // The other one was first, or it went with its daemon.
      return true;
    } finally {
      other.ifPresent(Worker::join);
    }
  }

  private void removeToo(String id) {
    try {
      daemon.client().boxes().remove(id, true);
    } catch (IOException e) {
      // The second caller may find nothing; the first one judges.
      tally.count(Tally.Group.BOX, "removed by another at once");
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // --- a run that is answered first ---

  private void run(EbbClient client) throws IOException {
    Workload workload = round.workloads().getFirst();
    tally.count(Tally.Group.WORKLOAD, workload.wireName());
    var command = command(workload).withTimeout(round.dwell().plusMillis(200));
    Exec exec = client.run(request(), command).exec();
    ending = true;
    box = exec.box();
    held = Held.nothingOf(exec.box());
    tally.count(Tally.Group.BOX, "answered");
    requireEnded(exec);
    awaitReleased(exec.box());
    judge.gone(held, where, patience());
  }

  /** The daemon that answered releases the box, or the next one does. */
  private void awaitReleased(String id) throws IOException {
    Release release = daemon.client().awaitRelease(id, PATIENCE);
    Certificate certificate = release.certificate();
    if (certificate == null || !certificate.clean()) {
      String what = "%s was answered and is %s: %s".formatted(id, release.released(), certificate);
      tally.broken(Invariant.I12, what, where);
    } else {
      tally.count(Tally.Group.BOX, "certified after the answer");
      tally.checked(Invariant.I13, where, Answers.time(certificate, sinceBegin()));
    }
  }

  // --- a caller that hangs up ---

  private void hangUp(EbbClient client) throws IOException {
    Workload workload = round.workloads().getFirst();
    tally.count(Tally.Group.WORKLOAD, workload.wireName());
    try (Following following = client.runAndFollow(request(), command(workload))) {
      tally.count(Tally.Group.BOX, "made");
      following.next();
      find(client).ifPresent(found -> box = found.id());
      String id = box;
      if (id != null) {
        held = Held.nothingOf(id);
        look(client, id);
      }
    }
    ending = true;
    awaitUnlisted();
    judge.gone(held, where, patience());
  }

  private Optional<Box> find(EbbClient client) throws IOException {
    return client.boxes().list(BoxQuery.all().withName(round.name())).stream().findFirst();
  }

  private void awaitUnlisted() throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (find(daemon.client()).isPresent()) {
      if (!deadline.pause(LOOK_AGAIN)) {
        tally.broken(Invariant.I8, round.name() + " outlives its caller", where);
        return;
      }
    }
  }

  // --- when something went wrong ---

  /** Removes a box in any state, perhaps by another daemon. */
  private void cleanUp() throws IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      try {
        sortOut();
        return;
      } catch (IOException e) {
        // The next daemon may die, too.
        refused(e);
        if (!deadline.pause(LOOK_AGAIN)) {
          tally.broken(
              Invariant.I12, round.name() + " cannot be removed: " + e.getMessage(), where);
          return;
        }
      }
    }
  }

  private void sortOut() throws IOException {
    EbbClient client = daemon.client();
    boolean isNext = daemon.generation() != generation;
    Optional<Box> found = find(client);
    String id = box;
    if (isNext && id != null && !ending) {
      requireSurvival(id, found);
    }
    if (found.isPresent()) {
      box = found.get().id();
      held = held.box().equals(found.get().id()) ? held : Held.nothingOf(found.get().id());
      look(client, found.get().id());
      remove(found.get().id());
    } else if (id != null) {
      judge.gone(held, where, PATIENCE);
    }
  }

  /** A detached box outlives its daemon; of any other, the next daemon knows only the end. */
  private void requireSurvival(String id, Optional<Box> found) {
    boolean attachedLives =
        !round.detached() && found.filter(each -> each.state() != BoxState.GONE).isPresent();
    boolean detachedIsLost = round.detached() && found.isEmpty() && !chaos.hasKilled(id);
    if (attachedLives || detachedIsLost) {
      String what = round.detached() ? " was detached and is lost" : " was attached and lives on";
      tally.broken(Invariant.I8, id + what, where);
    } else {
      tally.checked(Invariant.I8, where, List.of());
      tally.count(Tally.Group.BOX, round.detached() ? "adopted" : "gone with the daemon");
    }
  }
}
