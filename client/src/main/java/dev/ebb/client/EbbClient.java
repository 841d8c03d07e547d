package dev.ebb.client;

import dev.ebb.client.http.Authorities;
import dev.ebb.client.http.Endpoint;
import dev.ebb.client.http.HttpTransport;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import dev.ebb.json.JsonObject;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;

/**
 * A client of one daemon. Thread-safe; owns connections and, while there are timeouts to watch, one
 * daemon thread.
 */
public final class EbbClient implements Closeable {
  private static final Target RUN = Target.of("v1", "run");
  private static final Target CODE = Target.of("v1", "code");

  /** How long a sweep may take, with stuck resources. */
  private static final Duration SWEEP = Duration.ofMinutes(2);

  private final Calls calls;

  private EbbClient(Calls calls) {
    this.calls = calls;
  }

  /** Connects to the daemon of this host; throws {@link NoDaemonException} if there is none. */
  public static EbbClient connect(Path socket) throws IOException {
    return connect(Endpoint.unix(socket), "", Thread::new);
  }

  /**
   * Connects to the daemon of this host; {@code threads} makes the thread that ends calls that last
   * too long. Throws {@link NoDaemonException} if there is no daemon.
   */
  public static EbbClient connect(Path socket, ThreadFactory threads) throws IOException {
    return connect(Endpoint.unix(socket), "", threads);
  }

  /**
   * Connects to a daemon at {@code http://host:port} or {@code https://host:port}; throws {@link
   * NoDaemonException} if there is none. Its certificate must be for that host, and signed by an
   * authority that the JDK trusts.
   */
  public static EbbClient connect(URI uri, String key) throws IOException {
    return connect(Endpoint.tcp(uri), key, Thread::new);
  }

  /**
   * Connects to a daemon at {@code https://host:port}; throws {@link NoDaemonException} if there is
   * none.
   *
   * @param authorities a PEM file: the certificates of the authorities to trust, or the daemon's
   *     own
   */
  public static EbbClient connect(URI uri, String key, Path authorities) throws IOException {
    return connect(Endpoint.tls(uri, Authorities.of(authorities)), key, Thread::new);
  }

  private static EbbClient connect(Endpoint endpoint, String key, ThreadFactory threads)
      throws IOException {
    var client = new EbbClient(new Calls(new HttpTransport(endpoint, threads), key));
    try {
      client.calls.connect();
      return client;
    } catch (IOException e) {
      client.close();
      throw e;
    }
  }

  public Boxes boxes() {
    return new Boxes(calls);
  }

  /**
   * The commands of a box.
   *
   * @param box its id or name
   */
  public Execs execs(String box) {
    return new Execs(calls, box);
  }

  /**
   * The contexts of a box.
   *
   * @param box its id or name
   */
  public Contexts contexts(String box) {
    return new Contexts(calls, box);
  }

  /**
   * The files of a box.
   *
   * @param box its id or name
   */
  public BoxFiles files(String box) {
    return new BoxFiles(calls, box);
  }

  /**
   * Runs a command in a new box; returns when its processes are dead. The box is released right
   * after that: see {@link #awaitRelease}.
   */
  public Result run(BoxRequest box, ExecRequest exec) throws IOException {
    return run(RUN, box, exec);
  }

  /** Runs a command in a new box; returns when the box is released, with its certificate. */
  public Result runAndRelease(BoxRequest box, ExecRequest exec) throws IOException {
    return run(released(RUN), box, exec);
  }

  private Result run(Target target, BoxRequest box, ExecRequest exec) throws IOException {
    var call = Calls.post(target, run(box.document(), exec));
    return Result.read(calls.json(call.with(Duration.ZERO)));
  }

  private static Target released(Target target) {
    return target.with("certificate", "wait");
  }

  /** Starts a command and follows its output; closing it early ends the command. */
  public Following runAndFollow(BoxRequest box, ExecRequest exec) throws IOException {
    JsonObject document = run(box.document(), exec);
    return new Following(EventSource.once(calls.events(Calls.post(RUN, document))), Offsets.START);
  }

  /** Starts a command in a new box, which is removed when the command has ended. */
  public Exec start(BoxRequest box, ExecRequest exec) throws IOException {
    Target target = RUN.with("detach", true);
    return Exec.read(calls.json(Calls.post(target, run(box.document(), exec))));
  }

  /**
   * Runs code in a new box; returns when its processes are dead. The box is released right after
   * that: see {@link #awaitRelease}.
   */
  public CodeResult run(Code code) throws IOException {
    return run(CODE, code);
  }

  /** Runs code in a new box; returns when the box is released, with its certificate. */
  public CodeResult runAndRelease(Code code) throws IOException {
    return run(released(CODE), code);
  }

  private CodeResult run(Target target, Code code) throws IOException {
    var call = Calls.post(target, code.document());
    return CodeResult.read(EbbException.unlessProblem(calls.json(call.with(Duration.ZERO))));
  }

  /**
   * Runs code and passes on its output as it comes; the last event has what {@link CodeResult#of}
   * reads. Closing it early ends the code.
   */
  public Following runAndFollow(Code code) throws IOException {
    var call = Calls.post(CODE, code.document());
    return new Following(EventSource.once(calls.events(call)), Offsets.START);
  }

  /**
   * Runs code in an interpreter that also returns the value of the last expression and all
   * displays: in a context if the code names one, else in a box of its own, which is released right
   * after that.
   */
  public RichResult runRich(Code code) throws IOException {
    var call = Calls.post(CODE, code.rich().document());
    return RichResult.read(EbbException.unlessProblem(calls.json(call.with(Duration.ZERO))));
  }

  /**
   * Runs code and passes on what it shows as it comes; the document of the last event has what
   * {@link RichResult#of} reads. Closing it early ends the code.
   */
  public CellFollowing runRichAndFollow(Code code) throws IOException {
    var call = Calls.post(CODE, code.rich().document());
    return new CellFollowing(EventSource.once(calls.events(call)));
  }

  /**
   * Returns how far the release of a box has come.
   *
   * @param box its id or name
   */
  public Release release(String box) throws IOException {
    return Release.read(calls.json(Calls.get(Target.of("v1", "certificates", box))));
  }

  /**
   * Waits a while for the release of a box.
   *
   * @param box its id or name
   */
  public Release awaitRelease(String box, Duration patience) throws IOException {
    var target = Target.of("v1", "certificates", box).with("timeoutMillis", patience.toMillis());
    return Release.read(calls.json(Calls.get(target).with(Calls.patience(patience))));
  }

  /** The languages that code may be in, and whether the daemon's host has their tools. */
  public JsonObject languages() throws IOException {
    return calls.json(Calls.get(Target.of("v1", "languages")).with(Duration.ZERO));
  }

  private static JsonObject run(JsonObject box, ExecRequest exec) {
    return JsonObject.empty().with("box", Documents.unlessEmpty(box)).with("exec", exec.document());
  }

  /** A session of the Model Context Protocol, which begins with its first message. */
  public McpSession mcp() {
    return new McpSession(calls);
  }

  /** Follows the events of boxes from now on. */
  public BoxEvents events() throws IOException {
    return new BoxEvents(calls, "");
  }

  /** Follows the events of boxes after a known event. */
  public BoxEvents eventsAfter(String id) throws IOException {
    return new BoxEvents(calls, id);
  }

  /**
   * Why something is still there.
   *
   * @param subject a box, or the host pid of a process in one
   */
  public Why why(String subject) throws IOException {
    return Why.read(calls.json(Calls.get(Target.of("v1", "why", subject))));
  }

  /** How close the daemon is to its limits; for admins. */
  public Pressure pressure() throws IOException {
    return Pressure.read(calls.json(Calls.get(Target.of("v1", "pressure"))));
  }

  /** The quotas of a tenant; those of other tenants are for admins. */
  public Quota quota(String tenant) throws IOException {
    return Quota.read(calls.json(Calls.get(quotas(tenant))).object("limits"));
  }

  /** Sets the quotas of a tenant; for admins. */
  public void setQuota(String tenant, Quota quota) throws IOException {
    calls.json(Calls.put(quotas(tenant), quota.document()));
  }

  /** Removes the quotas of a tenant, so that the defaults apply; for admins. */
  public void removeQuota(String tenant) throws IOException {
    calls.done(Request.of("DELETE", quotas(tenant)));
  }

  private static Target quotas(String tenant) {
    return Target.of("v1", "quotas", tenant);
  }

  /** Compares the host with what the daemon knows of, and mends; for admins. */
  public Sweep sweep(boolean dryRun) throws IOException {
    Target target = Target.of("v1", "sweep").with("dryRun", dryRun);
    return Sweep.read(calls.json(Calls.post(target).with(Calls.patience(SWEEP))));
  }

  /** The findings of all sweeps of the daemon; for admins. */
  public JsonObject sweeps() throws IOException {
    return calls.json(Calls.get(Target.of("v1", "sweep")));
  }

  /** The boxes that the daemon made ahead; for admins. */
  public JsonObject pool() throws IOException {
    return calls.json(Calls.get(Target.of("v1", "pool")));
  }

  /** Returns the version that the daemon reports. */
  public JsonObject version() throws IOException {
    return calls.json(Calls.get(Target.of("v1", "version")));
  }

  public boolean isAlive() throws IOException {
    return isWell("healthz");
  }

  /** Returns whether the daemon accepts work. */
  public boolean isReady() throws IOException {
    return isWell("readyz");
  }

  private boolean isWell(String probe) throws IOException {
    try (var response = calls.answer(Calls.get(Target.of(probe)))) {
      return response.status() == 200;
    }
  }

  @Override
  public void close() {
    calls.close();
  }
}
