package dev.ebb.server;

import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.egress.EgressSettings;
import dev.ebb.engine.Engine;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.pressure.Reading;
import dev.ebb.pressure.Resource;
import dev.ebb.server.access.Gate;
import dev.ebb.server.access.Keys;
import dev.ebb.server.access.Quotas;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.Sweeper;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.pressure.BaselineWatch;
import dev.ebb.server.pressure.Cleanup;
import dev.ebb.server.pressure.PressureMetrics;
import dev.ebb.server.pressure.PressureWatch;
import dev.ebb.server.pressure.Watchdog;
import dev.ebb.server.rest.Departures;
import dev.ebb.server.rest.Rest;
import dev.ebb.server.rest.Watches;
import dev.ebb.supervision.Recovery;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.IntSupplier;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.HostPort;
import org.eclipse.jetty.util.thread.VirtualThreadPool;

/**
 * A running daemon: one engine, its boxes, and the doors to them. Closing it ends every box, then
 * the doors.
 */
public final class Daemon implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Daemon.class.getName());
  private static final int HEADER_MOST = 16 * 1024;
  private static final int IDLE_MILLIS = 60_000;
  private static final int QUEUE = 128;

  /** The exit status of a daemon that its watchdog ended. */
  private static final int STALLED = 70;

  private static final int EGRESS_CONNECTIONS = 1024;

  /** Whose events these are: nobody's, so admins alone see them. */
  private static final String NO_TENANT = "";

  private final Scope scope;
  private final Watchdog watchdog;
  private final Path socket;
  private final Engine engine;
  private final Boxes boxes;
  private final Server server;

  private Daemon(
      Scope scope, Watchdog watchdog, Path socket, Engine engine, Boxes boxes, Server server) {
    this.scope = scope;
    this.watchdog = watchdog;
    this.socket = socket;
    this.engine = engine;
    this.boxes = boxes;
    this.server = server;
  }

  /** Comes up, or unwinds and tells why. */
  public static Daemon start(Settings settings) throws Exception {
    var scope = new Scope();
    try {
      alone(scope, Engine.prepareHome(settings.home()));
      // ORDER: before anything is taken over that would have to be given back.
      new Keys(settings.home()).check();
      new Quotas(settings.home(), settings.quota()).check();
      // ORDER: first up and last down, so that it watches the end as well.
      var watchdog = Watchdog.start(Daemon::end);
      scope.own(watchdog::close);
      Engine engine = Engine.openForDaemon(settings.home());
      scope.own(engine::close);
      engine.recovered().forEach(Daemon::tell);
      engine.prepare();
      return start(settings, scope, watchdog, engine);
    } catch (Exception e) {
      try {
        scope.close();
      } catch (KernelException suppressed) {
        e.addSuppressed(suppressed);
      }
      throw e;
    }
  }

  private static void end() {
    QueuedStream.flushAll();
    Runtime.getRuntime().halt(STALLED);
  }

  private static void tell(Recovery.Finding finding) {
    // What is kept is adopted now, and told of then.
    if (!(finding.fate() instanceof Recovery.Fate.Absent)
        && !(finding.fate() instanceof Recovery.Fate.Kept)) {
      LOG.log(
          Level.INFO,
          "event=recovered instance={0} kind={1} subject={2} fate={3}",
          finding.instance(),
          finding.kind().word(),
          finding.subject(),
          finding.fate().describe());
    }
  }

  /** One daemon a home. */
  private static void alone(Scope scope, Path home) throws KernelException, IOException {
    Path file = home.resolve("daemon");
    Fd lock = Fd.open(scope, file, Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
    if (!Filesystem.tryLock(lock)) {
      String pid = Files.readString(file, StandardCharsets.US_ASCII).strip();
      throw new SandboxException(
          ErrorCode.CONFLICT,
          "a daemon serves " + home + " already" + (pid.isEmpty() ? "" : ", pid " + pid));
    }
    Filesystem.truncate(lock, 0);
    lock.write(ProcessHandle.current().pid() + "\n");
  }

  private static Daemon start(Settings settings, Scope scope, Watchdog watchdog, Engine engine)
      throws Exception {
    var metrics = new Metrics();
    Path home = settings.home();
    var pressure = PressureWatch.open(scope, home, settings.pressure());
    configureEgress(engine, settings.egress(), pressure.latest().of(Resource.DESCRIPTORS));
    var quotas = new Quotas(home, settings.quota());
    var boxes = new Boxes(engine, metrics, pressure, quotas, settings.pool());
    scope.own(boxes::close);
    boxes.capFiles(settings.policy().caps().fileSize());
    var sweeper = new Sweeper(engine, boxes, settings.sweepInterval(), metrics);
    scope.own(sweeper::close);
    pressure.register(Cleanup.Stage.SWEEP, enough -> released(sweeper.sweep(false)));
    pressure.register(Cleanup.Stage.WARM_BOXES, enough -> boxes.pool().makeWay());
    pressure.register(Cleanup.Stage.IDLE_BOXES, boxes::endIdle);
    pressure.register(Cleanup.Stage.HISTORY, boxes::forgetGone);
    var threads = new VirtualThreadPool();
    // A stream is a task for as long as it flows.
    threads.setMaxConcurrentTasks(0);
    var server = new Server(threads);
    scope.own(() -> stop(server));
    server.addConnector(unixConnector(server, settings.socket()));
    if (settings.listen().isPresent()) {
      server.addConnector(tcpConnector(server, settings, settings.listen().get()));
    }
    Reading descriptors = pressure.latest().of(Resource.DESCRIPTORS);
    int most = Crowd.most(settings.connections(), descriptors.limit());
    for (var connector : server.getConnectors()) {
      IntSupplier count = () -> connector.getConnectedEndPoints().size();
      connector.addBean(
          connector instanceof UnixDomainServerConnector
              ? new Crowd(count, most)
              : new Guests(most, connector.getScheduler()));
    }
    var baseline =
        new BaselineWatch(
            ProcessClock.instants(),
            settings.pressure().quiet(),
            boxes::isIdle,
            () -> connections(server));
    var gate = new Gate(new Keys(home), hosts(settings), Files.getOwner(home));
    PressureMetrics.register(metrics, pressure, baseline);
    var departures = new Departures();
    scope.own(departures::close);
    var watches = new Watches(sweeper, pressure, baseline, quotas, departures, watchdog);
    server.setHandler(
        Rest.handler(server, boxes, watches, gate, settings.policy(), settings.mcp(), metrics));
    server.start();
    pressure.start((kind, data) -> boxes.events().publish(NO_TENANT, kind, data), baseline);
    Files.setPosixFilePermissions(settings.socket(), PosixFilePermissions.fromString("rw-------"));
    LOG.log(Level.INFO, "event=serving socket={0}", settings.socket());
    return new Daemon(scope, watchdog, settings.socket(), engine, boxes, server);
  }

  /** A connection takes two descriptors, and all of them a quarter of what there may be. */
  private static void configureEgress(Engine engine, Settings.Egress wanted, Reading descriptors) {
    long most = Math.min(wanted.connections(), descriptors.limit() / 8);
    int connections = Math.clamp(most, 1, EGRESS_CONNECTIONS);
    engine
        .egress()
        .configure(
            EgressSettings.DEFAULT
                .withOpened(wanted.opened())
                .withConnections(connections, Math.max(1, connections / 4)));
  }

  private static int released(Sweeper.Sweep sweep) {
    return (int)
        sweep.findings().filter(each -> each.fate() instanceof Recovery.Fate.Released).count();
  }

  private static int connections(Server server) {
    int count = 0;
    for (var connector : server.getConnectors()) {
      count += connector.getConnectedEndPoints().size();
    }
    return count;
  }

  private static void stop(Server server) {
    try {
      server.stop();
    } catch (Exception e) {
      LOG.log(Level.WARNING, "event=server_stop_failed", e);
    }
  }

  private static HttpConnectionFactory http() {
    var configuration = new HttpConfiguration();
    configuration.setSendServerVersion(false);
    configuration.setSendDateHeader(false);
    configuration.setRequestHeaderSize(HEADER_MOST);
    // A caller over the unix socket may send any Host, or none.
    configuration.setServerAuthority(new HostPort("localhost"));
    return new HttpConnectionFactory(configuration);
  }

  /** A socket that nobody answers on is a dead daemon's: whoever is alone may remove it. */
  private static UnixDomainServerConnector unixConnector(Server server, Path socket)
      throws IOException {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > 107) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST, "the path of the socket is longer than 107 bytes: " + socket);
    }
    Files.deleteIfExists(socket);
    var connector = new UnixDomainServerConnector(server, 1, 1, http());
    connector.setUnixDomainPath(socket);
    connector.setAcceptQueueSize(QUEUE);
    connector.setIdleTimeout(IDLE_MILLIS);
    connector.addBean(new HeadPatience(connector.getScheduler()));
    return connector;
  }

  private static ServerConnector tcpConnector(
      Server server, Settings settings, InetSocketAddress address) {
    var http = http();
    http.getHttpConfiguration().setServerAuthority(null);
    var connector = new ServerConnector(server, 1, 1, factories(settings, http));
    connector.setHost(address.getHostString());
    connector.setPort(address.getPort());
    connector.setAcceptQueueSize(QUEUE);
    connector.setIdleTimeout(IDLE_MILLIS);
    connector.addBean(new HeadPatience(connector.getScheduler()));
    return connector;
  }

  private static ConnectionFactory[] factories(Settings settings, HttpConnectionFactory http) {
    return settings
        .tls()
        .map(files -> new SslConnectionFactory(Tls.context(files), http.getProtocol()))
        .map(tls -> new ConnectionFactory[] {tls, http})
        .orElseGet(() -> new ConnectionFactory[] {http});
  }

  private static Set<String> hosts(Settings settings) {
    var hosts = new HashSet<>(Set.of("localhost", "127.0.0.1", "[::1]", "::1"));
    settings.hosts().forEach(host -> hosts.add(host.toLowerCase(Locale.ROOT)));
    settings
        .listen()
        .ifPresent(address -> hosts.add(address.getHostString().toLowerCase(Locale.ROOT)));
    return hosts;
  }

  /** The TCP port it listens on, 0 if it does not. */
  public int port() {
    for (var connector : server.getConnectors()) {
      if (connector instanceof ServerConnector tcp) {
        return tcp.getLocalPort();
      }
    }
    return 0;
  }

  public Path socket() {
    return socket;
  }

  public Boxes boxes() {
    return boxes;
  }

  public Engine engine() {
    return engine;
  }

  /** ORDER: boxes end while their callers can still be told, then the doors close. */
  @Override
  public void close() {
    watchdog.goDown();
    boxes.close();
    try {
      scope.close();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }
}
