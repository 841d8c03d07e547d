package dev.ebb.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Backends;
import dev.ebb.backend.Capability;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.backend.forkserver.ZygoteBackend;
import dev.ebb.backend.plain.PlainBackend;
import dev.ebb.box.Box;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.FirstFile;
import dev.ebb.model.Holding;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An additional backend that makes boxes with fewer capabilities; see docs/design/making.md. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class PlainBackendKernelTest {
  private static final Capability[] LACKED = {
    Capability.LEAVES,
    Capability.FREEZE,
    Capability.DETACH,
    Capability.EGRESS,
    Capability.HOST_NETWORK,
    Capability.TERMINAL,
    Capability.FILES,
    Capability.INVENTORY
  };

  private static final BoxSpec PLAIN = BoxSpec.defaults().withBackend(PlainBackend.NAME);
  private static final Network ALLOWED = Network.allow(List.of("example.org"));
  private static final ExecSpec SLEEP = ExecSpec.of("sleep", "1000");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private @Nullable Engine opened;
  private boolean hasDetached;

  @AfterEach
  void releaseAll() throws Exception {
    close();
    if (hasDetached) {
      AdoptedBoxes.releaseAll(host);
    }
  }

  private void close() {
    if (opened != null) {
      opened.close();
      opened = null;
    }
  }

  private Engine open(Opening.Role role, Function<BackendHost, Backends> registration)
      throws IOException {
    opened = Opening.open(host.home(), role, (backendHost, _) -> registration.apply(backendHost));
    return opened;
  }

  /** The backends of any engine, and one more. */
  private Engine withPlain() throws IOException {
    Opening.Registration usual = BackendRegistration.ofHost();
    opened =
        Opening.open(
            host.home(),
            Opening.Role.PROCESS,
            (backendHost, role) ->
                new Backends(
                    usual.backends(backendHost, role).all(),
                    List.of(new PlainBackend(PlainBackend.NAME, backendHost, LACKED))));
    return opened;
  }

  private static void assertRefused(ErrorCode code, String message, ThrowingCallable call) {
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(call)
        .withMessage(message)
        .satisfies(e -> assertThat(e.code()).isEqualTo(code));
  }

  private static void assertCannot(Box box, String what, ThrowingCallable call) {
    assertRefused(
        ErrorCode.UNSUPPORTED, "box " + box.id() + ": backend plain cannot " + what, call);
  }

  // --- it is one of them ---

  @Test
  void itMakesBoxesThatNameItAndNoOthers() throws Exception {
    Engine engine = withPlain();
    Box box = engine.create(PLAIN);
    assertThat(box.footprint().backend()).contains(PlainBackend.NAME);
    assertThat(engine.start(box, ExecSpec.of("true")).await().cause())
        .isEqualTo(new ExitCause.Exited(0));
    assertThat(engine.release(box).isClean()).isTrue();
    assertThat(engine.create(BoxSpec.defaults()).footprint().backend()).contains(Bubblewrap.NAME);
  }

  @Test
  void eachBackendMakesTheBoxThatNamesIt() throws Exception {
    Engine engine = withPlain();
    for (String name : List.of(ForkserverBackend.NAME, Bubblewrap.NAME, ForkserverBackend.NAME)) {
      Box box = engine.create(BoxSpec.defaults().withBackend(name));
      assertThat(box.footprint().backend()).contains(name);
      assertThat(engine.release(box).isClean()).isTrue();
    }
  }

  @Test
  void anUnknownBackendIsRefusedWithThoseThereAre() throws Exception {
    Engine engine = withPlain();
    BoxSpec spec = BoxSpec.defaults().withBackend("moon");
    String message =
        "unknown backend \"moon\": choose one of zygote, forkserver, bubblewrap, plain";
    assertRefused(ErrorCode.BAD_REQUEST, message, () -> engine.create(spec));
    assertRefused(ErrorCode.BAD_REQUEST, message, () -> engine.requireBackend(spec));
    engine.requireBackend(BoxSpec.defaults());
    engine.requireBackend(PLAIN);
  }

  @Test
  void aNamedBackendThatCannotMakeABoxIsNotReplaced() throws Exception {
    Engine engine = withPlain();
    List<Holding> before = engine.holdings();
    String reason =
        Feature.CGROUPS.isPresent()
            ? "no pool of this engine copies an interpreter"
            : "it needs cgroups, and a uid for each box";
    assertRefused(
        ErrorCode.SETUP_FAILED,
        "no box can be made now by zygote (" + reason + ")",
        () -> engine.create(BoxSpec.defaults().withBackend(ZygoteBackend.NAME)));
    assertThat(engine.holdings()).isEqualTo(before);
  }

  // --- what it lacks ---

  @Test
  void aBoxThatItCannotMakeIsRefusedBeforeAnythingIsMade() throws Exception {
    Engine engine = withPlain();
    List<Holding> before = engine.holdings();
    var id = engine.newId();
    String cannot = "box " + id + ": backend plain cannot ";
    assertRefused(
        ErrorCode.UNSUPPORTED,
        cannot + "reach allowed hosts",
        () -> engine.create(id, PLAIN.withNetwork(ALLOWED), _ -> {}));
    assertRefused(
        ErrorCode.UNSUPPORTED,
        cannot + "use the network of the host",
        () -> engine.create(id, PLAIN.withNetwork(Network.HOST), _ -> {}));
    assertThat(engine.holdings()).isEqualTo(before);
  }

  @Test
  void aBoxRefusesWhatItsBackendLacks() throws Exception {
    Engine engine = withPlain();
    Box box = engine.create(PLAIN);
    assertCannot(box, "pause", box::pause);
    assertCannot(box, "detach", () -> box.detach(Optional.empty(), Map.of()));
    assertCannot(box, "reach allowed hosts", () -> box.changeNetwork(ALLOWED));
    assertCannot(
        box,
        "run a command in a terminal",
        () -> engine.start(box, ExecSpec.of("true").withTerminal(24, 80)));
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
    assertThat(box.isDetached()).isFalse();
  }

  @Test
  void aPoolOfItsBoxesIsRefused() throws Exception {
    Engine engine =
        open(
            Opening.Role.PROCESS,
            host -> new Backends(List.of(new PlainBackend("plain", host, LACKED)), List.of()));
    var policy = new PoolPolicy(1, 1, Duration.ofMinutes(1), Map.of(), List.of());
    assertRefused(
        ErrorCode.UNSUPPORTED,
        "no pool: a box of backend plain cannot wait in a pool",
        () -> engine.openPool(policy, (_, _) -> {}).close());
    engine.openPool(PoolPolicy.OFF, (_, _) -> {}).close();
  }

  // --- what is done another way ---

  @Test
  void aCommandWithoutALeafIsCountedAndKilledByInit() throws Exception {
    Engine engine = withPlain();
    Box box = engine.create(PLAIN);
    Exec exec = engine.start(box, SLEEP);
    assertThat(exec.awaitStart(Duration.ofSeconds(30))).isTrue();
    assertThat(box.footprint().hasLeaf()).isFalse();
    assertThat(exec.killAndAwait(Duration.ZERO).cause()).isInstanceOf(ExitCause.Killed.class);
    Exec busy = engine.start(box, ExecSpec.of("sh", "-c", "for i in $(seq 20000); do :; done"));
    assertThat(busy.await().usage().cpu()).isPositive();
    Exec operator = engine.start(box, ExecSpec.of("true").withOperator());
    assertThat(operator.await().cause()).isEqualTo(new ExitCause.Exited(0));
    assertThat(box.footprint().cgroups()).noneMatch(path -> path.resolve("lane").toFile().exists());
    assertThat(box.state()).isEqualTo(BoxState.RUNNING);
  }

  @Test
  void filesAreWrittenAndListedByACommand() throws Exception {
    Engine engine = withPlain();
    Box box = engine.create(PLAIN);
    var files = new BoxFiles(box);
    var first = new FirstFile("first", 0644, "text".getBytes(UTF_8));
    assertThat(files.writeNew(first)).isEmpty();
    assertThat(engine.start(box, ExecSpec.of("touch", "second")).await().cause())
        .isEqualTo(new ExitCause.Exited(0));
    assertThat(files.workspace()).extracting(each -> each.name()).containsExactly("second");
  }

  // --- the engine after this one ---

  private Engine daemon(String name) throws IOException {
    hasDetached = true;
    return open(
        Opening.Role.DAEMON,
        host ->
            new Backends(List.of(new PlainBackend(name, host, Capability.TERMINAL)), List.of()));
  }

  @Test
  void aDetachedBoxIsOneOfItsBackendForTheNextEngine() throws Exception {
    Box box = daemon("first").create(BoxSpec.defaults());
    box.detach(Optional.empty(), Map.of());
    close();
    Engine next = daemon("first");
    Engine.Adopted adopted = next.adopt().getFirst();
    assertThat(adopted.box().footprint().backend()).contains("first");
    assertThat(adopted.record().orElseThrow().backend()).contains("first");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> next.start(adopted.box(), ExecSpec.of("true").withTerminal(24, 80)))
        .withMessageContaining("backend first cannot");
    assertThat(next.release(adopted.box()).isClean()).isTrue();
  }

  @Test
  void aDetachedBoxOfABackendThatIsNoMoreIsLeftAloneAndCanBeEnded() throws Exception {
    Box box = daemon("first").create(BoxSpec.defaults());
    box.detach(Optional.empty(), Map.of());
    close();
    Engine next = daemon("second");
    Engine.Adopted adopted = next.adopt().getFirst();
    assertThat(adopted.box().state()).isEqualTo(BoxState.UNREACHABLE);
    assertThat(adopted.box().footprint().backend()).isEmpty();
    assertThat(next.release(adopted.box()).isClean()).isTrue();
  }
}
