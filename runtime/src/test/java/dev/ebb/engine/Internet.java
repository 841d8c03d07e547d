package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.egress.AddressBlock;
import dev.ebb.egress.Decision;
import dev.ebb.egress.EgressSettings;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Network;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * An engine, and an internet for its boxes: one server on the loopback of the host, and names that
 * lead there or wherever a test wants.
 */
final class Internet implements BeforeEachCallback, AfterEachCallback {
  static final Duration SOON = TestHost.patience(Duration.ofSeconds(30));

  /** Addresses below 127.0.0.1 stay closed. */
  static final EgressSettings SETTINGS =
      EgressSettings.DEFAULT.withOpened(List.of(AddressBlock.parse("127.0.0.1/32")));

  private final Prober prober = new Prober();
  private final Map<String, List<InetAddress>> names = new ConcurrentHashMap<>();
  private final Queue<String> lookedUp = new ConcurrentLinkedQueue<>();
  private final Queue<Decision> decisions = new ConcurrentLinkedQueue<>();
  private @Nullable Origin origin;

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    prober.beforeEach(context);
    origin = Origin.open();
    put("origin.test", "127.0.0.1");
    configure(SETTINGS);
    engine().egress().listen(decisions::add);
  }

  @Override
  public void afterEach(ExtensionContext context) throws Exception {
    if (origin != null) {
      origin.close();
    }
    prober.afterEach(context);
  }

  /** With the names of this internet. */
  void configure(EgressSettings settings) throws IOException {
    engine().egress().configure(settings.withResolver(this::resolve));
  }

  void put(String name, String... addresses) {
    names.put(name, Stream.of(addresses).map(InetAddress::ofLiteral).toList());
  }

  List<InetAddress> resolve(String name) throws UnknownHostException {
    lookedUp.add(name);
    List<InetAddress> found = names.get(name);
    if (found == null) {
      throw new UnknownHostException(name);
    }
    return found;
  }

  Engine engine() throws IOException {
    return prober.engine();
  }

  Prober prober() {
    return prober;
  }

  Origin origin() {
    return Objects.requireNonNull(origin);
  }

  /** Where the server is, as boxes know it. */
  String place() {
    return "origin.test:" + origin().port();
  }

  List<String> lookedUp() {
    return List.copyOf(lookedUp);
  }

  /** Returns the decisions, in order. */
  List<String> outcomes() {
    return decisions.stream()
        .map(each -> each.destination() + " " + each.outcome().wireName())
        .toList();
  }

  static BoxSpec allowing(String... rules) {
    return BoxSpec.defaults().withNetwork(Network.allow(List.of(rules)));
  }

  /** One of the attempts of egress.py. */
  static ExecSpec attempt(String... words) {
    return ExecSpec.of(Prober.python("egress.py", words));
  }

  /** Returns the result in a box of its own. */
  String inBox(BoxSpec spec, String... words) throws IOException, InterruptedException {
    return prober.run(spec, attempt(words));
  }

  /** Runs a command in an existing box. */
  String in(Box box, String... words) throws IOException, InterruptedException {
    try (Exec exec = engine().start(box, attempt(words))) {
      var result = exec.await(SOON).orElseThrow();
      assertThat(result.cause().code()).as(CapturedOutput.of(exec.stderr()).text()).isZero();
      return CapturedOutput.of(exec.stdout()).text().strip();
    }
  }
}
