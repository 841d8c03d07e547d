package dev.ebb.pool;

import dev.ebb.box.Box;
import dev.ebb.box.MadeAhead;
import dev.ebb.exec.Exec;
import dev.ebb.exec.Stdin;
import dev.ebb.init.BoxContents;
import dev.ebb.init.Inventory;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Fate;
import dev.ebb.model.FileEntry;
import dev.ebb.model.FirstFile;
import dev.ebb.model.PlannedStart;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A box that was made in advance, its state at that time, and what waits in it; or a box that was
 * just made for a caller, which no other caller has used. For one thread at a time.
 */
public final class PoolItem {
  /** How long an idle init may take to answer. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  private static final Duration START = Duration.ofSeconds(30);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(2);

  private final Box box;
  private final long madeAt = System.nanoTime();
  private final Optional<Waiting> waiting;
  private final Optional<Baseline> baseline;
  private @Nullable Exec ordered;
  private Optional<FileEntry> written = Optional.empty();

  private record Waiting(Exec exec, Duration cpu) {}

  /** The content when it began to wait. */
  private record Baseline(BoxContents contents, List<Integer> pids) {
    private static Baseline of(Box box) throws KernelException, InterruptedException {
      return new Baseline(
          MadeAhead.of(box).inventory(START).orElseThrow(() -> silent(box)), procs(box));
    }
  }

  /**
   * Why it cannot be handed out.
   *
   * @param cause the failure to fit it to the order
   */
  record Flaw(Fate fate, Optional<Exception> cause) {
    private static Flaw of(Fate fate) {
      return new Flaw(fate, Optional.empty());
    }
  }

  private PoolItem(Box box, Optional<Waiting> waiting, Optional<Baseline> baseline) {
    this.box = box;
    this.waiting = waiting;
    this.baseline = baseline;
  }

  private static KernelException silent(Box box) {
    return new KernelException("reach the init of box " + box.id(), Errno.EAGAIN);
  }

  /** Takes a new box unchanged. */
  static PoolItem plain(Box box) throws KernelException, InterruptedException {
    return new PoolItem(box, Optional.empty(), Optional.of(Baseline.of(box)));
  }

  /**
   * Takes a box that was just made for this order: a copied interpreter continues with the order at
   * once. Without a copy it is a plain box.
   */
  static PoolItem copied(Box box, Interpreter interpreter, List<String> preload, ExecSpec order)
      throws KernelException, InterruptedException {
    if (!isCopy(box)) {
      return new PoolItem(box, Optional.empty(), Optional.empty());
    }
    Exec exec = Exec.start(box, interpreter.waiting(preload).withResumption());
    if (!exec.awaitStart(START)) {
      throw silent(box);
    }
    var waiting = new Waiting(exec, Duration.ZERO);
    var item = new PoolItem(box, Optional.of(waiting), Optional.empty());
    item.ordered = exec.rearm(order, waiting.cpu());
    return item;
  }

  private static boolean isCopy(Box box) {
    return MadeAhead.of(box).isCopy();
  }

  /**
   * Starts an interpreter in a new box, or continues that of its zygote, and waits until it waits
   * for an order.
   */
  static PoolItem with(Box box, Interpreter interpreter, List<String> preload)
      throws KernelException, InterruptedException {
    ExecSpec waiting = interpreter.waiting(preload);
    Exec exec = Exec.start(box, isCopy(box) ? waiting.withResumption() : waiting);
    Deadline.in(START).untilInterrupted(LOOK_AGAIN, () -> exec.isOver() || isWaiting(exec));
    if (exec.isOver() || !isWaiting(exec)) {
      throw new SandboxException(
          ErrorCode.SETUP_FAILED, interpreter.wireName() + " does not come to wait for its code");
    }
    // ORDER: init may hold back its report of the start for a moment; it must not reach the caller.
    if (!exec.awaitStart(START)) {
      throw silent(box);
    }
    Duration cpu = box.footprint().usage().map(CgroupUsage::cpu).orElse(Duration.ZERO);
    return new PoolItem(box, Optional.of(new Waiting(exec, cpu)), Optional.of(Baseline.of(box)));
  }

  private static boolean isWaiting(Exec exec) {
    return exec.pids().stream()
        .map(ProcFs::name)
        .flatMap(Optional::stream)
        .anyMatch(Interpreter.WAITING::equals);
  }

  public Box box() {
    return box;
  }

  /** Calls {@code owner} for each change of state from now on, and first for the current state. */
  public Box handTo(Consumer<BoxState> owner) {
    MadeAhead.of(box).handTo(owner);
    return box;
  }

  boolean hasInterpreter() {
    return waiting.isPresent();
  }

  boolean isDead() {
    return !isUp();
  }

  Duration age() {
    return Duration.ofNanos(System.nanoTime() - madeAt);
  }

  /**
   * Proves that it is unchanged, and fits it to the order.
   *
   * @param planned has a command, unless the item has no interpreter
   * @return why it cannot be handed out
   */
  Optional<Flaw> prepare(BoxSpec spec, PlannedStart planned) throws InterruptedException {
    if (isDead()) {
      return Optional.of(Flaw.of(Fate.DEAD));
    }
    try {
      if (waiting.isPresent()) {
        ExecSpec order = planned.command().orElseThrow();
        ordered = waiting.get().exec().rearm(order, waiting.get().cpu());
      }
      // ORDER: answered after the limits of the waiting command have restarted.
      Optional<BoxContents> now = contents(planned.file());
      Optional<Fate> defect =
          now.isPresent() ? compare(now.get()) : Optional.of(isUp() ? Fate.SILENT : Fate.DEAD);
      if (defect.isEmpty()) {
        MadeAhead.of(box).specialise(spec);
      }
      return defect.map(Flaw::of);
    } catch (KernelException | SandboxException e) {
      return Optional.of(isUp() ? new Flaw(Fate.UNFIT, Optional.of(e)) : Flaw.of(Fate.DEAD));
    }
  }

  private Optional<BoxContents> contents(Optional<FirstFile> file)
      throws KernelException, InterruptedException {
    if (file.isEmpty()) {
      return MadeAhead.of(box).inventory(ANSWER);
    }
    Optional<Inventory> inventory = MadeAhead.of(box).inventoryThenWrite(file.get(), ANSWER);
    written =
        inventory
            .flatMap(Inventory::written)
            .flatMap(entries -> FileEntry.parse(entries).stream().findFirst());
    return inventory.map(Inventory::contents);
  }

  private boolean isUp() {
    return box.state() == BoxState.RUNNING;
  }

  private Optional<Fate> compare(BoxContents now) {
    BoxContents contents = baseline.orElseThrow().contents();
    if (now.processes() != contents.processes()
        || !procs(box).equals(baseline.orElseThrow().pids())) {
      return Optional.of(Fate.PROCESSES);
    }
    if (now.descriptors() != contents.descriptors()) {
      return Optional.of(Fate.DESCRIPTORS);
    }
    boolean isEmpty = now.files() == contents.files() && now.blocks() == contents.blocks();
    return isEmpty ? Optional.empty() : Optional.of(Fate.FILES);
  }

  /** Returns the processes that the kernel lists; without cgroups, those that init counts. */
  private static List<Integer> procs(Box box) {
    return box.footprint().cgroups().isEmpty() ? List.of() : box.footprint().pids();
  }

  /** Returns the entry of its first file, if init could write it. */
  public Optional<FileEntry> written() {
    return written;
  }

  /** Returns whether an interpreter in it waits to run this command. */
  public boolean waitsFor(ExecSpec order) {
    return ordered != null && ordered.spec().equals(order);
  }

  /** Lets the interpreter begin with its command; once. */
  public Exec begin() throws InterruptedException {
    Exec exec = ordered;
    if (exec == null) {
      throw new IllegalStateException("nothing waits in box " + box.id());
    }
    ordered = null;
    Stdin stdin = waiting.orElseThrow().exec().stdin().orElseThrow();
    byte[] order = Interpreter.order(exec.spec(), box.spec().network());
    stdin.write(order, 0, order.length);
    if (!exec.spec().takesInput()) {
      stdin.close();
    }
    return exec;
  }
}
