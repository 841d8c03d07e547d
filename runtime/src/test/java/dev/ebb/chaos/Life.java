package dev.ebb.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.box.BoxEnd;
import dev.ebb.box.Insides;
import dev.ebb.box.MadeAhead;
import dev.ebb.box.PastBox;
import dev.ebb.box.PastRelease;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Kind;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.process.ProcessRef;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.Children;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The lives of engines on one home: together they reach every step. */
enum Life {
  /** The life of boxes that end with their engine. */
  ATTACHED {
    @Override
    void live(Path home, Witness witness) {
      witness.withEngine(
          () -> Engine.open(home),
          (engine, _) -> {
            var _ = engine.past().open();
            var _ = engine.releases().open();
            witness
                .attemptTo(() -> engine.create(BoxSpec.defaults()))
                .ifPresent(box -> record(engine, box, () -> useAll(engine, box, witness)));
            witness
                .attemptTo(() -> engine.create(BoxSpec.defaults()))
                .ifPresent(box -> loseInit(engine, box, witness));
          });
    }
  },

  /** The life of a box that cannot be made. */
  REFUSED {
    @Override
    void live(Path home, Witness witness) {
      var nowhere = new Mount(Path.of("/tmp"), "/usr/nowhere", true);
      witness.withEngine(
          () -> Engine.open(home),
          (engine, _) -> {
            String why = witness.expectRefusal(() -> engine.create(refusedSpec(nowhere)));
            assertThat(why).contains("nowhere");
          });
    }
  },

  /** The life of a ledger that grows too long while it lists a box. */
  LISTED {
    @Override
    void live(Path home, Witness witness) {
      witness.withEngine(
          () -> Engine.open(home),
          (engine, _) -> {
            Box box = engine.create(BoxSpec.defaults());
            witness.attempt(() -> lengthen(engine, box));
            witness.release(engine, box);
          });
    }
  },

  /** The life of boxes that outlive their daemon. */
  DETACHED {
    @Override
    void live(Path home, Witness witness) throws Exception {
      witness.withEngine(() -> Engine.openForDaemon(home), Life::detach);
      forgetRecord(home, "orphan");
      witness.withEngine(() -> Engine.openForDaemon(home), Life::adopt);
      witness.withEngine(() -> Engine.openForDaemon(home), Life::forget);
    }
  },

  /** The life of an engine that sweeps, and finds unlisted resources. */
  SWEPT {
    @Override
    void live(Path home, Witness witness) {
      witness.withEngine(
          () -> Engine.open(home),
          (engine, _) -> {
            Box box = engine.create(BoxSpec.defaults());
            plant(engine, box);
            // Resources that could not be released at first are released then.
            witness.attempt(() -> sweep(engine));
            witness.attempt(() -> sweep(engine));
            witness.release(engine, box);
          });
    }
  },

  /** The life of a guest engine that finds attached boxes of a dead daemon. */
  RECOVERED {
    @Override
    void live(Path home, Witness witness) throws Exception {
      witness.withEngine(
          () -> Engine.openForDaemon(home),
          (engine, _) -> {
            Box box = engine.create(BoxSpec.defaults());
            box.detach(Optional.empty(), Map.of("name", "orphan"));
            run(engine, box, FOREVER);
          });
      Path directory = forgetRecord(home, "orphan").orElseThrow();
      try (var children = new Children();
          var scope = new Scope()) {
        ProcessRef stray = ProcessRef.of(children.sleeper()).orElseThrow();
        Path instance = Objects.requireNonNull(directory.getParent());
        Ledger.resume(scope, instance.resolve("ledger"))
            .hold(directory.getFileName().toString(), Kind.PROCESS, stray.toString());
        witness.withEngine(() -> Engine.open(home), (_, _) -> {});
      }
    }
  };

  /** Reads the state that a caller sees, after all commands have ended. */
  static final String LEAF_LEFT = "a leaf is left";

  private static final int MORE_THAN_IS_KEPT = 1000;
  private static final String NOBODY = "bffffffffffff";
  private static final String LONG_NAME = "/nowhere/" + "x".repeat(10_000);
  private static final int LINES = 150;
  private static final String FOREVER = "exec sleep 1000";
  private static final Duration SOON = Eventually.SOON;

  /** The actions with one engine. */
  interface Part {
    void live(Engine engine, Witness witness) throws Exception;
  }

  abstract void live(Path home, Witness witness) throws Exception;

  /** Arguments: a home and the name of a life, which ends before its end where a step is armed. */
  public static void main(String[] arguments) throws Exception {
    var witness = new Witness();
    valueOf(arguments[1]).live(Path.of(arguments[0]), witness);
    witness.told().forEach(Witness::say);
    witness.wrongs().forEach(Witness::say);
    Witness.say("over");
  }

  /** By more than it may hold before it is started anew. */
  private static void lengthen(Engine engine, Box box) throws Exception {
    Ledger ledger = Insides.ledger(box);
    for (int i = 0; i < LINES; i++) {
      ledger.strike(List.of(ledger.hold(NOBODY, Kind.DIRECTORY, LONG_NAME)));
    }
    Path instance = Objects.requireNonNull(box.execSite().directory().logs().path().getParent());
    assertThat(Ledger.read(instance.resolve("ledger"))).isEqualTo(engine.holdings());
  }

  private static void plant(Engine engine, Box box) throws Exception {
    Path instance = Objects.requireNonNull(box.execSite().directory().logs().path().getParent());
    for (Path root : engine.hierarchies().everywhere(instance.getFileName().toString())) {
      Cgroup.create(root.resolve(NOBODY));
    }
    Files.writeString(Files.createDirectory(instance.resolve(NOBODY)).resolve("1.stdout"), "words");
    box.execSite().directory().make();
    Files.writeString(box.execSite().directory().logs().recordFile(), "words");
  }

  private static void sweep(Engine engine) {
    for (Recovery.Finding finding : engine.audit(false)) {
      if (finding.fate() instanceof Recovery.Fate.Stuck) {
        throw new IllegalStateException(finding.toString());
      }
    }
  }

  private static BoxSpec refusedSpec(Mount mount) {
    return BoxSpec.defaults().withMount(mount);
  }

  /** Ends a box as a daemon does when the box ends with it. */
  private static void record(Engine engine, Box box, Runnable life) {
    var record = new PastBox(box.id(), box.spec(), Map.of(), Optional.empty(), List.of());
    int begun = engine.past().begin(record);
    var answered = new PastRelease(box.id(), Map.of("tenant", "one"), Optional.empty());
    int release = engine.releases().begin(answered);
    engine.releases().answered();
    life.run();
    var proof = new Certificate(box.id().value(), Map.of(), Map.of(), List.of(), Duration.ZERO);
    var end = new BoxEnd(Instant.now(), proof, Map.of());
    engine.past().forget(engine.past().end(begun, record.ended(end)));
    var done = new PastRelease(box.id(), answered.note(), Optional.of(end));
    engine.releases().forget(engine.releases().end(release, done));
  }

  private static void useAll(Engine engine, Box box, Witness witness) {
    witness.attempt(
        () ->
            MadeAhead.of(box)
                .specialise(BoxSpec.defaults().withLimits(Limits.defaults().withPids(64))));
    witness.attempt(() -> feed(engine, box));
    witness.attempt(() -> kill(engine, box));
    witness.attempt(box::pause);
    witness.attempt(
        () -> {
          box.resume();
          assertThat(box.state()).isEqualTo(BoxState.RUNNING);
        });
    witness.attempt(
        () -> assertExits(0, engine.start(box, ExecSpec.of("/bin/true").withOperator())));
    witness.attempt(() -> assertStillGood(engine, box));
    witness.release(engine, box);
  }

  private static void feed(Engine engine, Box box) throws Exception {
    Exec cat = engine.start(box, ExecSpec.of("/bin/cat").withInput());
    byte[] words = "words\n".repeat(MORE_THAN_IS_KEPT).getBytes(StandardCharsets.UTF_8);
    cat.stdin().orElseThrow().write(words, 0, words.length);
    cat.stdin().orElseThrow().close();
    ExecResult result = cat.await(SOON).orElseThrow();
    if (result.loss().isAny()) {
      assertThat(result.cause()).isInstanceOf(ExitCause.OutputLost.class);
      throw new IllegalStateException("output was lost: " + result.loss().describe());
    }
    assertThat(result.cause()).isEqualTo(new ExitCause.Exited(0));
    byte[] read = new byte[words.length];
    assertThat(cat.stdout().read(0, read)).isEqualTo(words.length);
    cat.close();
  }

  private static void kill(Engine engine, Box box) throws Exception {
    Exec exec = run(engine, box, FOREVER);
    assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(ExitCause.Killed.class);
    exec.close();
  }

  /** Whatever failed before, unless it is still paused: then the next try lets it go on. */
  private static void assertStillGood(Engine engine, Box box) throws Exception {
    if (box.state() == BoxState.PAUSED) {
      box.resume();
    }
    assertExits(0, engine.start(box, ExecSpec.of("/bin/true")));
    if (box.footprint().hasLeaf()) {
      throw new IllegalStateException(LEAF_LEFT);
    }
  }

  private static void loseInit(Engine engine, Box box, Witness witness) {
    witness.attempt(
        () -> {
          Exec exec = run(engine, box, FOREVER);
          ProcessRef.of(box.footprint().initPid()).orElseThrow().signal(Signal.KILL);
          assertThat(exec.await(SOON).orElseThrow().cause()).isEqualTo(new ExitCause.Lost());
        });
    witness.release(engine, box);
  }

  private static Exec run(Engine engine, Box box, String command) throws InterruptedException {
    Exec exec = engine.start(box, ExecSpec.of("/bin/sh", "-c", command));
    assertThat(exec.awaitStart(SOON)).isTrue();
    return exec;
  }

  private static void assertExits(int code, Exec exec) throws InterruptedException {
    assertThat(exec.await(SOON).orElseThrow().cause()).isEqualTo(new ExitCause.Exited(code));
  }

  // --- detached ---

  private static void detach(Engine engine, Witness witness) throws Exception {
    Box box = engine.create(BoxSpec.defaults());
    witness.attempt(
        () -> {
          box.detach(Optional.empty(), Map.of("name", "heirloom"));
          Witness.say("detached");
        });
    witness.attempt(() -> box.changeNetwork(Network.allow(List.of("name.invalid"))));
    witness.attempt(
        () -> {
          assertExits(7, run(engine, box, "exit 7"));
          Witness.say("ended");
        });
    witness.attempt(
        () -> {
          run(engine, box, FOREVER);
          Witness.say("running");
        });
    if (!box.isDetached()) {
      witness.release(engine, box);
    }
    Box orphan = engine.create(BoxSpec.defaults());
    orphan.detach(Optional.empty(), Map.of("name", "orphan"));
    Witness.say("orphaned");
  }

  /** Leaves a box as a daemon does that is killed before the record is begun. */
  private static Optional<Path> forgetRecord(Path home, String name) throws Exception {
    try (var files = Files.walk(home.resolve("instances"), 3)) {
      for (Path record : files.filter(file -> file.endsWith("record")).toList()) {
        if (Files.readString(record, StandardCharsets.ISO_8859_1).contains("note-name=" + name)) {
          Files.delete(record);
          return Optional.ofNullable(record.getParent());
        }
      }
    }
    return Optional.empty();
  }

  private static void adopt(Engine engine, Witness witness) throws Exception {
    List<Engine.Adopted> adopted = engine.adopt();
    if (adopted.isEmpty()) {
      witness.excuse();
    }
    for (Engine.Adopted each : adopted) {
      for (Exec exec : each.execs()) {
        witness.attempt(() -> exec.await(Duration.ofMillis(1)));
      }
      Witness.say("stopping");
      witness.attempt(() -> assertThat(engine.stop(each.box()).stuck()).isEmpty());
      witness.attempt(() -> assertThat(engine.stop(each.box()).isClean()).isTrue());
    }
  }

  private static void forget(Engine engine, Witness witness) throws Exception {
    for (Engine.Adopted each : engine.adopt()) {
      witness.release(engine, each.box());
    }
  }
}
