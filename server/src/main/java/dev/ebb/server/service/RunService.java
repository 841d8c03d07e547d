package dev.ebb.server.service;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.admission.Permit;
import dev.ebb.box.OwnBox;
import dev.ebb.code.Cell;
import dev.ebb.code.CodeResult;
import dev.ebb.code.CodeRun;
import dev.ebb.code.CodeTask;
import dev.ebb.code.NewFile;
import dev.ebb.model.CellOrder;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caller;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Runs commands, code and cells for a waiting client: in an existing box, or in a new box that is
 * removed with the answer. Every door uses it. Thread-safe.
 */
public final class RunService {
  private final BoxRegistry boxes;
  private final OwnBox.Removal<TenantBox> removal;

  public RunService(BoxRegistry boxes) {
    this(boxes, removalBy(boxes));
  }

  RunService(BoxRegistry boxes, OwnBox.Removal<TenantBox> removal) {
    this.boxes = boxes;
    this.removal = removal;
  }

  static OwnBox.Removal<TenantBox> removalBy(BoxRegistry boxes) {
    return box -> boxes.remove(box, true);
  }

  /**
   * The box to make for a run.
   *
   * @param files written before anything runs
   * @param waits whether the answer waits for the release of the box; if not, the box is released
   *     after it
   */
  public record Place(BoxOrder order, List<NewFile> files, boolean waits) {
    public Place {
      files = List.copyOf(files);
    }
  }

  /** Reads the result of a run for the answer, before the box is removed. */
  public interface Reading<R> {
    Sending read(R result) throws IOException, InterruptedException;

    /** Throws a failure, unless the answer has begun and can still hold it. */
    default Sending failed(SandboxException failure) {
      throw failure;
    }
  }

  /** Sends the answer, with the release of the box as far as it has come. */
  public interface Sending {
    void send(BoxRelease release) throws IOException;
  }

  /** Reads a cell that has ended, before its output is discarded. */
  public interface CellReading<C, T> {
    T read(C cell) throws IOException, InterruptedException;
  }

  // --- in an existing box ---

  /**
   * Runs a command to its end.
   *
   * @throws SandboxException it could not begin
   */
  public TenantExec run(TenantBox box, CommandTask task, RunClient client)
      throws IOException, InterruptedException {
    return runToEnd(boxes.start(box, task.spec(), task.input(), client::hasLeft), task, client);
  }

  private TenantExec runToEnd(TenantExec exec, CommandTask task, RunClient client)
      throws IOException, InterruptedException {
    feed(exec, task, client);
    new ClientWait(client).follow(exec);
    boxes.requireBegun(exec);
    return exec;
  }

  /** Starts a command in the background, and waits until it runs. */
  public TenantExec start(TenantBox box, CommandTask task, RunClient client)
      throws InterruptedException {
    return begin(boxes.start(box, task.spec(), task.input(), client::hasLeft), task, client);
  }

  private TenantExec begin(TenantExec exec, CommandTask task, RunClient client)
      throws InterruptedException {
    feed(exec, task, client);
    exec.box().awaitEndAsync(exec);
    exec.awaitStart();
    boxes.requireBegun(exec);
    return exec;
  }

  /** Keeps the input until the command has read it or has ended. */
  private static void feed(TenantExec exec, CommandTask task, RunClient client) {
    task.input().ifPresent(bytes -> exec.feed(bytes, client.keep(bytes)));
    client.onStarted();
  }

  /** Writes, compiles and runs code. */
  public CodeResult<TenantExec> code(TenantBox box, CodeTask task, RunClient client)
      throws IOException, InterruptedException {
    return new CodeRun<>(TenantPlace.of(boxes, box, client), task).run();
  }

  /** Runs code in a context, with its files, and reads its result. */
  @CanIgnoreReturnValue
  public <T> T cell(
      TenantContext context, CellTask task, RunClient client, CellReading<CellRun, T> reading)
      throws IOException, InterruptedException {
    try (CellRun run = CellRun.begin(boxes, context, task, client::hasLeft)) {
      new ClientWait(client).follow(context, run.ordered(), task.cell());
      return reading.read(run);
    }
  }

  /** Runs code in a context without files, and reads its result. */
  @CanIgnoreReturnValue
  public <T> T cell(
      TenantContext context, CellOrder order, RunClient client, CellReading<Cell, T> reading)
      throws IOException, InterruptedException {
    try (TenantContext.Ordered ordered = context.submit(order)) {
      new ClientWait(client).follow(context, ordered, order);
      return reading.read(ordered.cell());
    }
  }

  // --- in a box of its own ---

  /** Runs a command in a box of its own. */
  public void runAlone(
      Caller caller, Place place, CommandTask task, RunClient client, Reading<TenantExec> reading)
      throws IOException, InterruptedException {
    try (Permit permit = boxes.admitRun(caller, client::hasLeft)) {
      // Only a box that starts empty can have its command waiting in the pool.
      PlannedStart planned =
          place.files().isEmpty() ? PlannedStart.of(task.spec()) : PlannedStart.UNKNOWN;
      OwnBox<TenantBox> own = create(caller, place, planned);
      own.removeOnFailure(
          () -> {
            TenantExec exec = startFirst(own.box(), task, permit);
            answer(own, place, reading.read(runToEnd(exec, task, client)));
            return exec;
          });
    }
  }

  /** ORDER: the permit of the box ends with its first command. */
  private TenantExec startFirst(TenantBox box, CommandTask task, Permit permit)
      throws InterruptedException {
    TenantExec exec = boxes.startAdmitted(box, task.spec());
    permit.close();
    return exec;
  }

  /**
   * Starts a command in a box of its own, which ends with the command, and answers when it runs.
   */
  public void startAlone(
      Caller caller, Place place, CommandTask task, RunClient client, Reading<TenantExec> reading)
      throws IOException, InterruptedException {
    try (Permit _ = boxes.admitRun(caller, client::hasLeft)) {
      OwnBox<TenantBox> own = create(caller, place, PlannedStart.UNKNOWN);
      own.removeOnFailure(
          () -> {
            TenantExec exec = begin(boxes.startAdmitted(own.box(), task.spec()), task, client);
            reading.read(exec).send(BoxRelease.of(own.box(), Optional.empty()));
            boxes.removeAfterCommand(own.box());
            return exec;
          });
    }
  }

  private OwnBox<TenantBox> create(Caller caller, Place place, PlannedStart planned)
      throws IOException, InterruptedException {
    return new OwnBox<>(
        removal,
        boxes.createAdmitted(
            caller, place.order(), made -> NewFile.write(made.files(), place.files()), planned));
  }

  /** Writes, compiles and runs code in a box of its own. */
  public void codeAlone(
      Caller caller,
      Place place,
      CodeTask task,
      RunClient client,
      Reading<CodeResult<TenantExec>> reading)
      throws IOException, InterruptedException {
    try (Permit permit = boxes.admitRun(caller, client::hasLeft)) {
      OwnBox<TenantBox> own = create(caller, place, task.plannedStart());
      own.removeOnFailure(
          () -> {
            answer(own, place, readCode(own.box(), task, permit, client, reading));
            return task;
          });
    }
  }

  private Sending readCode(
      TenantBox box,
      CodeTask task,
      Permit permit,
      RunClient client,
      Reading<CodeResult<TenantExec>> reading)
      throws IOException, InterruptedException {
    try {
      return reading.read(new CodeRun<>(TenantPlace.ofNew(boxes, box, client, permit), task).run());
    } catch (SandboxException e) {
      return reading.failed(e);
    }
  }

  /** Runs code by an interpreter in a context and a box of its own. */
  public void cellAlone(
      Caller caller,
      Place place,
      TenantContext.Order interpreter,
      CellTask task,
      RunClient client,
      CellReading<CellRun, Sending> reading)
      throws IOException, InterruptedException {
    TenantBox box =
        boxes.create(caller, place.order(), Optional.empty(), _ -> {}, client::hasLeft).box();
    var own = new OwnBox<>(removal, box);
    own.removeOnFailure(
        () -> {
          TenantContext context = boxes.createContext(box, interpreter, client::hasLeft);
          return cell(context, task, client, run -> answer(own, place, run, reading));
        });
  }

  private CellRun answer(
      OwnBox<TenantBox> own, Place place, CellRun run, CellReading<CellRun, Sending> reading)
      throws IOException, InterruptedException {
    Sending sending = reading.read(run);
    if (!place.waits()) {
      // The interpreter outlives its cell, and must not outlive the answer.
      run.context().end();
    }
    answer(own, place, sending);
    return run;
  }

  /**
   * ORDER: the output is read before the box goes, and every process of the box but its init is
   * dead before the answer, which the release follows at once.
   */
  private void answer(OwnBox<TenantBox> own, Place place, Sending sending)
      throws IOException, InterruptedException {
    TenantBox box = own.box();
    Optional<Runnable> release =
        place.waits() || !box.isQuiet() ? Optional.empty() : boxes.removeAnswered(box);
    if (release.isEmpty()) {
      sending.send(BoxRelease.of(box, Optional.of(own.remove())));
      return;
    }
    own.handOver();
    try {
      sending.send(BoxRelease.of(box, Optional.empty()));
    } finally {
      release.get().run();
    }
  }
}
