package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.admission.AdmissionControl;
import dev.ebb.admission.BaselineWatch;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.EndedBy;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Keys;
import dev.ebb.server.service.access.Quota;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.server.service.access.TenantMemory;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Whatever goes wrong in a request whose box ends under it, the answer is that the box has ended,
 * and never that the daemon failed.
 */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class EndedMeanwhileKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private Engine engine;
  private BoxRegistry boxes;
  private Listeners listeners;
  private Disconnects disconnects;
  private Path socket;

  /** The change to the box in the middle of a request, which then fails. */
  private interface Meanwhile {
    void happens(TenantBox box) throws InterruptedException;
  }

  private Meanwhile meanwhile = _ -> {};
  private Supplier<RuntimeException> failure = IllegalStateException::new;

  @BeforeEach
  void serve() throws Exception {
    engine = Engine.open(host.home());
    var quotas = new Quotas(host.home(), Quota.NONE);
    boxes = new BoxRegistry(engine, new Metrics(), AdmissionControl.OPEN, quotas, PoolPolicy.OFF);
    socket = host.home().resolve("sock");
    var addresses =
        new Listeners.Addresses(socket, Optional.empty(), Optional.empty(), Set.of(), 100);
    listeners = Listeners.of(addresses, 1000);
    disconnects = new Disconnects();
    var baseline =
        new BaselineWatch(InstantSource.system(), Duration.ofDays(1), () -> true, () -> 0);
    var watches =
        new Dispatcher.Watches(new Metrics(), baseline, quotas, disconnects, TenantMemory.ofHeap());
    var gate = new Gate(new Keys(host.home()), addresses.allHosts(), Files.getOwner(host.home()));
    listeners.start(new Dispatcher(gate, watches, List.of(new FailingDoor())));
  }

  @AfterEach
  void close() {
    listeners.stop();
    disconnects.close();
    boxes.close();
    engine.close();
  }

  /** A route that works with a box and fails. */
  private final class FailingDoor implements Door {
    @Override
    public String name() {
      return "failing";
    }

    @Override
    public Set<Mount> mounts() {
      return Set.of(Mount.EVERYWHERE);
    }

    @Override
    public KeyPlace key() {
      return KeyPlace.header("X-API-Key");
    }

    @Override
    public List<Route> routes() {
      return List.of(Route.of("GET", "/work/{box}", this::work));
    }

    private void work(Exchange exchange) throws InterruptedException {
      meanwhile.happens(exchange.about(boxes.find(exchange.caller(), exchange.path("box"))));
      throw failure.get();
    }
  }

  private int status() throws IOException, InterruptedException {
    TenantBox box =
        boxes.create(Caller.OWNER, BoxOrder.of(BoxSpec.defaults()), Optional.empty()).box();
    try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      Channels.newOutputStream(channel)
          .write(
              "GET /work/%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                  .formatted(box.id())
                  .getBytes(StandardCharsets.US_ASCII));
      byte[] answer = Channels.newInputStream(channel).readAllBytes();
      return Integer.parseInt(new String(answer, StandardCharsets.US_ASCII).substring(9, 12));
    }
  }

  @Test
  void aFailureInABoxThatWasRemovedIsThatItIsNotThere() throws Exception {
    meanwhile = box -> boxes.remove(box, true);
    assertThat(status()).isEqualTo(404);
    failure = () -> new SandboxException(ErrorCode.SETUP_FAILED, "cannot start the command");
    assertThat(status()).isEqualTo(404);
  }

  @Test
  void aFailureInABoxThatWasStoppedIsThatItDoesNotRun() throws Exception {
    meanwhile = box -> box.end(Duration.ZERO, EndedBy.REQUEST);
    assertThat(status()).isEqualTo(409);
  }

  @Test
  void aFailureInABoxThatRunsIsTheDaemonsOwn() throws Exception {
    assertThat(status()).isEqualTo(500);
  }

  @Test
  void aRefusalIsAnsweredUnchanged() throws Exception {
    meanwhile = box -> boxes.remove(box, true);
    failure = () -> new Problem(Problem.Code.BAD_REQUEST, "no");
    assertThat(status()).isEqualTo(400);
  }
}
