package dev.ebb.server;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.Cleanup;
import dev.ebb.admission.PressureWatch;
import dev.ebb.admission.Reading;
import dev.ebb.admission.Resource;
import dev.ebb.egress.EgressSettings;
import dev.ebb.engine.Engine;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.Disconnects;
import dev.ebb.server.http.Gate;
import dev.ebb.server.http.Listeners;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.metrics.ProcessMetrics;
import dev.ebb.server.pressure.PressureMetrics;
import dev.ebb.server.pressure.Watchdog;
import dev.ebb.server.rest.Watches;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.Sweeper;
import dev.ebb.server.service.access.Keys;
import dev.ebb.server.service.access.Quotas;
import dev.ebb.supervision.Recovery;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A running daemon: one engine, its boxes, and the doors to them. Closing it ends every box, then
 * the doors.
 */
public final class Daemon implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Daemon.class.getName());

  /** The exit status of a daemon that its watchdog ended. */
  private static final int STALLED = 70;

  private static final int EGRESS_CONNECTIONS = 1024;

  /** The tenant of events without an owner, which only admins see. */
  private static final String NO_TENANT = "";

  private final Scope scope;
  private final Watchdog watchdog;
  private final Path socket;
  private final Engine engine;
  private final BoxRegistry boxes;
  private final Listeners listeners;
  private final Rehearsal rehearsal;

  private Daemon(
      Scope scope,
      Watchdog watchdog,
      Path socket,
      Engine engine,
      BoxRegistry boxes,
      Listeners listeners,
      Rehearsal rehearsal) {
    this.scope = scope;
    this.watchdog = watchdog;
    this.socket = socket;
    this.engine = engine;
    this.boxes = boxes;
    this.listeners = listeners;
    this.rehearsal = rehearsal;
  }

  /** Starts, or unwinds and throws the reason. */
  public static Daemon start(Settings settings) throws Exception {
    var scope = new Scope();
    try {
      alone(scope, HomeTools.prepareHome(settings.home()));
      // ORDER: before any resource is acquired that would have to be released.
      new Keys(settings.home()).check();
      new Quotas(settings.home(), settings.quota()).check();
      // ORDER: started first and ended last, so that it watches the end as well.
      var watchdog = Watchdog.start(Daemon::end);
      scope.own(watchdog::close);
      Engine engine = Engine.openForDaemon(settings.home());
      scope.own(engine::close);
      engine.recovered().forEach(Daemon::log);
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

  private static void log(Recovery.Finding finding) {
    // Kept boxes are adopted here, and reported by that event.
    if (!(finding.fate() instanceof Recovery.Fate.Absent)
        && !(finding.fate() instanceof Recovery.Fate.Kept)) {
      LOG.log(
          Level.INFO,
          "event=recovered instance={0} kind={1} subject={2} fate={3}",
          finding.instance(),
          finding.kind().wireName(),
          finding.subject(),
          finding.fate().describe());
    }
  }

  /** Allows one daemon per home. */
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
    var quotas = new Quotas(engine.records(), settings.quota());
    var boxes = new BoxRegistry(engine, metrics, pressure, quotas, settings.pool());
    scope.own(boxes::close);
    boxes.capFiles(settings.policy().caps().fileSize());
    var sweeper = new Sweeper(engine, boxes, settings.sweepInterval(), metrics);
    scope.own(sweeper::close);
    pressure.register(Cleanup.Stage.SWEEP, enough -> released(sweeper.sweep(false)));
    pressure.register(Cleanup.Stage.WARM_BOXES, enough -> boxes.pool().makeWay());
    pressure.register(Cleanup.Stage.IDLE_BOXES, boxes::endIdle);
    pressure.register(Cleanup.Stage.HISTORY, boxes::forgetGone);
    Reading descriptors = pressure.latest().of(Resource.DESCRIPTORS);
    var listeners = Listeners.of(settings.addresses(), descriptors.limit());
    scope.own(listeners::stop);
    var fronts = new Fronts();
    var baseline =
        new BaselineWatch(
            ProcessClock.instants(),
            settings.pressure().quiet(),
            boxes::isIdle,
            () -> listeners.connections() + fronts.connections());
    var gate =
        new Gate(new Keys(engine.records()), settings.addresses().allHosts(), Files.getOwner(home));
    PressureMetrics.register(metrics, pressure, baseline);
    ProcessMetrics.register(metrics);
    var disconnects = new Disconnects();
    scope.own(disconnects::close);
    var watches = new Watches(sweeper, pressure, baseline, quotas, disconnects, watchdog);
    listeners.start(DaemonDoors.open(settings, boxes, watches, gate, metrics));
    fronts.open(scope, settings, descriptors, baseline, metrics);
    var rehearsal =
        new Rehearsal(
            new Rehearsal.Parts(settings, engine, pressure, quotas, watches, gate, metrics));
    pressure.start((kind, data) -> boxes.events().publish(NO_TENANT, kind, data), baseline);
    LOG.log(Level.INFO, "event=serving socket={0}", settings.socket());
    return new Daemon(scope, watchdog, settings.socket(), engine, boxes, listeners, rehearsal);
  }

  /** A connection takes two descriptors; all connections may take a quarter of the descriptors. */
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

  /** Runs boxes of its own from now on, while no caller needs the host. */
  public void rehearse() {
    rehearsal.start();
  }

  /** Returns the TCP port it listens on; 0 if none. */
  public int port() {
    return listeners.port();
  }

  public Path socket() {
    return socket;
  }

  public BoxRegistry boxes() {
    return boxes;
  }

  public Engine engine() {
    return engine;
  }

  /** ORDER: boxes end while their callers can still be answered, then the doors close. */
  @Override
  public void close() {
    watchdog.goDown();
    rehearsal.close();
    boxes.close();
    try {
      scope.close();
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }
}
