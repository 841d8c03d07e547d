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
 * A box that was made ahead, how it was then, and what waits in it; or one that was made for
 * whoever asked, of which nobody else can have had hold. For one thread at a time.
 */
public final class PoolItem {
  /** Of an init that has nothing else to do. */
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

  /** What was in it when it began to wait. */
  private record Baseline(BoxContents contents, List<Integer> pids) {
    private static Baseline of(Box box) throws KernelException, InterruptedException {
      return new Baseline(
          MadeAhead.of(box).inventory(START).orElseThrow(() -> silent(box)), procs(box));
    }
  }

  /**
   * Why it cannot be had.
   *
   * @param cause what it could not be made what was wanted for
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
    return new KernelException("hear from the init of box " + box.id(), Errno.EAGAIN);
  }

  /** Takes a new box as it is. */
  static PoolItem plain(Box box) throws KernelException, InterruptedException {
    return new PoolItem(box, Optional.empty(), Optional.of(Baseline.of(box)));
  }

  /**
   * A box that was just made for this order: what its maker copied goes on, and is given the order
   * without having waited. If nothing was copied, it is a plain one.
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
   * Starts an interpreter in a new box, or lets that of its zygote go on, and waits until that
   * waits.
   */
  static PoolItem with(Box box, Interpreter interpreter, List<String> preload)
      throws KernelException, InterruptedException {
    ExecSpec waiting = interpreter.waiting(preload);
    Exec exec = Exec.start(box, isCopy(box) ? waiting.withResumption() : waiting);
    Deadline.in(START).untilInterrupted(LOOK_AGAIN, () -> exec.isOver() || isWaiting(exec));
    if (exec.isOver() || !isWaiting(exec)) {
      throw new SandboxException(
          ErrorCode.SETUP_FAILED, interpreter.word() + " does not come to wait for its code");
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

  /** From now on {@code owner} hears of the state of the box, of the one that it is in first. */
  public Box handTo(Consumer<BoxState> owner) {
    MadeAhead.of(box).handTo(owner);
    return box;
  }

  boolean isDead() {
    return !isUp();
  }

  Duration age() {
    return Duration.ofNanos(System.nanoTime() - madeAt);
  }

  /**
   * Proves that it is as it was made, and makes it what is wanted.
   *
   * @param planned with a command, unless it is an item without an interpreter
   * @return why it cannot be had
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
      // ORDER: answered after the limits of what waits have begun anew.
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

  /** Those that the kernel knows it by; without cgroups init's own count must do. */
  private static List<Integer> procs(Box box) {
    return box.footprint().cgroups().isEmpty() ? List.of() : box.footprint().pids();
  }

  /** The file that it was prepared with, if init could write it. */
  public Optional<FileEntry> written() {
    return written;
  }

  /** Whether an interpreter in it waits to run this very command. */
  public boolean waitsFor(ExecSpec order) {
    return ordered != null && ordered.spec().equals(order);
  }

  /** Lets the interpreter begin with what it was prepared for; once. */
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
