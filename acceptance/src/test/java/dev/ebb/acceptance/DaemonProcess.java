package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.EbbClient;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.TestHost;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The packaged daemon, as a process of its own, which must end well afterwards: as an instance
 * field for one test, as a static one for all of the class. Listens on its unix socket and on a
 * port of the loopback.
 */
final class DaemonProcess
    implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
  static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(30));
  private static final Set<String> WRITERS = Set.of("ebb-log", "ebb-stdout", "gone");
  private static final Pattern PORT = Pattern.compile("https?://127\\.0\\.0\\.1:(\\d+)");

  private final TestHost host = TestHost.needing(Feature.BWRAP);
  private @Nullable Path ownHome;
  private final Supplier<List<String>> prefix;
  private final Map<String, String> environment;
  private final List<String> flags;
  private final List<EbbClient> clients = new ArrayList<>();

  /** Each stays as long as a box of its daemon does, and is then for us to reap. */
  private final List<Long> supervisors = new ArrayList<>();

  private @Nullable Process process;
  private long pid;
  private int port;
  private String admin = "";
  private boolean shared;
  private boolean hasFailed;

  DaemonProcess(String... flags) {
    this(List::of, Map.of(), flags);
  }

  /** Started by way of another command, which is asked for then, and with more environment. */
  DaemonProcess(Supplier<List<String>> prefix, Map<String, String> environment, String... flags) {
    this.prefix = prefix;
    this.environment = Map.copyOf(environment);
    this.flags = flags(flags);
  }

  /** Without a pool, unless a test asks for one: its boxes come some time after a call. */
  private static List<String> flags(String... flags) {
    var all = new ArrayList<>(List.of(flags));
    if (all.stream().noneMatch(flag -> flag.startsWith("--pool"))) {
      all.add("--pool=off");
    }
    return List.copyOf(all);
  }

  /** Starts one in this home, of a test that does so by itself. */
  static DaemonProcess at(Path home) throws IOException {
    var daemon = new DaemonProcess();
    daemon.ownHome = home;
    daemon.start();
    return daemon;
  }

  /** Ends a daemon that was started in this way, with all its boxes. */
  void endAt() throws Exception {
    hasFailed = true;
    end();
  }

  @Override
  public void beforeAll(ExtensionContext context) throws Exception {
    host.beforeAll(context);
    shared = true;
    start();
  }

  @Override
  public void beforeEach(ExtensionContext context) throws Exception {
    if (!shared) {
      host.beforeEach(context);
      start();
    }
  }

  @Override
  public void afterEach(ExtensionContext context) throws Exception {
    hasFailed |= context.getExecutionException().isPresent();
    if (shared) {
      // Each test closes its own connections, so that nothing of it is left.
      removeAll();
      closeClients();
    } else if (process != null) {
      // Another extension may have skipped the test before the daemon was started.
      end();
    }
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    end();
  }

  /** The next test finds no box, and a failed one leaves none that would outlive its daemon. */
  private void removeAll() throws IOException {
    try (EbbClient client = EbbClient.connect(home().resolve("ebb.sock"))) {
      for (Box box : client.boxes().list(BoxQuery.all())) {
        client.boxes().remove(box.id(), true);
      }
    }
  }

  private void end() throws Exception {
    if (hasFailed) {
      printOutput();
      if (process().isAlive()) {
        removeAll();
      }
    }
    closeClients();
    assertThat(stop()).as("exit code of the daemon").isZero();
    awaitReaped(supervisors);
  }

  /** Prints what the daemon has written so far and the test has not read: why the test failed. */
  private void printOutput() throws IOException {
    for (InputStream stream : List.of(process().getInputStream(), process().getErrorStream())) {
      byte[] bytes = stream.readNBytes(stream.available());
      System.out.println("daemon: " + new String(bytes, StandardCharsets.UTF_8));
    }
    if (!process().isAlive()) {
      System.out.println("daemon: exited with " + process().exitValue());
    }
  }

  private void closeClients() throws IOException {
    for (EbbClient client : clients) {
      client.close();
    }
    clients.clear();
  }

  private static void awaitReaped(List<Long> pids) {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              TestHost.reapOrphans();
              assertThat(pids).noneMatch(HostBox::isThere);
            });
  }

  void start() throws IOException {
    start(Map.of());
  }

  /** With more environment than the others have. */
  void start(Map<String, String> more) throws IOException {
    var all = new HashMap<>(environment);
    all.putAll(more);
    var words = new ArrayList<>(List.of("serve", "--listen", "127.0.0.1:0"));
    words.addAll(flags);
    Process started = new Ebb(home(), prefix.get(), all).start(words.toArray(String[]::new));
    process = started;
    BufferedReader said = started.inputReader();
    for (String line = said.readLine(); line != null; line = said.readLine()) {
      var match = PORT.matcher(line);
      if (match.find()) {
        port = Integer.parseInt(match.group(1));
        pid = Long.parseLong(Files.readString(home().resolve("daemon")).strip());
        ProcessHandle.of(pid)
            .flatMap(ProcessHandle::parent)
            .ifPresent(k -> supervisors.add(k.pid()));
        return;
      }
    }
    throw new AssertionError("the daemon did not come up: " + started.errorReader().readLine());
  }

  /** Ends it by SIGTERM, if it runs; its exit code. */
  int stop() throws InterruptedException {
    Process ending = process();
    ending.destroy();
    if (!ending.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      ending.destroyForcibly();
      throw new AssertionError("the daemon does not end");
    }
    return ending.exitValue();
  }

  /** By SIGKILL; its detached boxes live on. */
  void kill() throws InterruptedException {
    assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue();
    assertThat(process().waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
  }

  /** After a kill of the daemon: its boxes are now orphans of this process. */
  void killKeeper() {
    long last = supervisors.getLast();
    assertThat(ProcessHandle.of(last).orElseThrow().destroyForcibly()).isTrue();
    awaitReaped(List.of(last));
  }

  /** Returns the pid of the daemon itself. */
  long pid() {
    return pid;
  }

  /** Returns the process that a shell sees: the outer of the two processes around the daemon. */
  Process process() {
    return requireNonNull(process);
  }

  Path home() throws IOException {
    return ownHome == null ? host.home() : ownHome;
  }

  Ebb ebb() throws IOException {
    return new Ebb(home());
  }

  /** Over the unix socket. */
  EbbClient client() throws IOException {
    return keep(EbbClient.connect(home().resolve("ebb.sock")));
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** Over TCP. */
  EbbClient client(String key) throws IOException {
    return keep(EbbClient.connect(uri(), key));
  }

  private EbbClient keep(EbbClient client) {
    clients.add(client);
    return client;
  }

  String key(String... options) throws IOException, InterruptedException {
    var words = new ArrayList<>(List.of("key", "create"));
    words.addAll(List.of(options));
    var made = ebb().call(words.toArray(String[]::new));
    assertThat(made.code()).as(made.stderr()).isZero();
    return made.text().strip();
  }

  /** Returns the number of its threads, except the short-lived ones that write its log. */
  int threads() throws IOException {
    try (var tasks = Files.list(Path.of("/proc/" + pid() + "/task"))) {
      return (int) tasks.filter(task -> !WRITERS.contains(nameOf(task))).count();
    }
  }

  private static String nameOf(Path task) {
    try {
      return Files.readString(task.resolve("comm")).strip();
    } catch (IOException e) {
      return "gone";
    }
  }

  int descriptors() throws IOException {
    try (var files = Files.list(Path.of("/proc/" + pid() + "/fd"))) {
      return (int) files.count();
    }
  }

  /** Returns one of its metrics. */
  long gauge(String name) throws IOException, InterruptedException {
    return scrape()
        .lines()
        .filter(line -> line.startsWith(name + " "))
        .map(line -> (long) Double.parseDouble(line.substring(name.length() + 1)))
        .findFirst()
        .orElseThrow();
  }

  /** Returns all its metrics. */
  String scrape() throws IOException, InterruptedException {
    admin = admin.isEmpty() ? key("--admin") : admin;
    return Wire.ask(uri(), "GET", "/metrics", "", "Authorization: Bearer " + admin).body();
  }

  /** How many bytes of it are in memory. */
  long memory() throws IOException {
    return Long.parseLong(status("VmRSS:").replace(" kB", "")) * 1024;
  }

  private String status(String field) throws IOException {
    return Files.readAllLines(Path.of("/proc/" + pid() + "/status")).stream()
        .filter(line -> line.startsWith(field))
        .map(line -> line.substring(field.length()).strip())
        .findFirst()
        .orElseThrow();
  }
}
