package dev.ebb.server;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.admission.PressureWatch;
import dev.ebb.admission.Resource;
import dev.ebb.engine.Engine;
import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Self;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.process.ProcFs;
import dev.ebb.server.http.Gate;
import dev.ebb.server.http.Listeners;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.rest.Watches;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.access.Quotas;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URLEncoder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs real boxes for some seconds after the start, through doors of its own, so that the JVM has
 * compiled the code of all doors when callers need it. Callers go first: it makes one call at a
 * time, and only while no request is served and the host has time. Its boxes are on the ledger as
 * all others, but on no list, in no event, no history and no metric of callers.
 */
final class Rehearsal implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Rehearsal.class.getName());

  /** Set by the training run for the start-up cache, which has no callers to wait for. */
  private static final boolean IS_TRAINING = Boolean.getBoolean("ebb.training");

  /** How often it does everything. */
  private static final int ROUNDS = IS_TRAINING ? 300 : 120;

  private static final Duration LONGEST = Duration.ofSeconds(20);

  /** A daemon that stops does not wait longer for a call of the rehearsal. */
  private static final Duration END_BOUND = Duration.ofSeconds(2);

  /** How long no request was served before each call. */
  private static final long QUIET_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** How long other work of the host delays each call. */
  private static final long CROWDED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int CROWD = 2 * Runtime.getRuntime().availableProcessors();
  private static final Duration LOOK = Duration.ofMillis(2);

  /** A host with less room keeps it for its callers. */
  private static final Map<Resource, Long> LEAST_LIMITS =
      Map.of(Resource.PIDS, 512L, Resource.DESCRIPTORS, 512L, Resource.MEMORY, 1L << 30);

  private static final PoolPolicy POOL =
      new PoolPolicy(1, 1, PoolPolicy.DEFAULT_AGE, Map.of(), List.of());

  private static final String TRUE = "{\"command\":[\"true\"]}";
  private static final String PYTHON = "{\"language\":\"python\",\"code\":\"print(1+1)\"}";

  private final Parts parts;
  private final AtomicLong calls = new AtomicLong();
  private final Thread thread = Thread.ofVirtual().name("ebb-rehearsal").unstarted(this::run);
  private final Deadline end = Deadline.in(LONGEST);

  private long seen;
  private long quietSince = System.nanoTime();
  private long askedAt = quietSince;

  /**
   * The parts of the daemon that it uses.
   *
   * @param metrics of the requests of callers
   */
  record Parts(
      Settings settings,
      Engine engine,
      PressureWatch pressure,
      Quotas quotas,
      Watches watches,
      Gate gate,
      Metrics metrics) {}

  Rehearsal(Parts parts) {
    this.parts = parts;
    parts
        .metrics()
        .counter("ebb_rehearsal_calls_total", "Calls of the daemon to itself.", calls::doubleValue);
  }

  void start() {
    thread.start();
  }

  /** Ends it, and waits until its boxes are gone. */
  @Override
  public void close() {
    thread.interrupt();
    try {
      if (thread.isAlive() && !thread.join(END_BOUND)) {
        LOG.log(Level.WARNING, "event=rehearsal_left");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    long begun = System.nanoTime();
    try {
      if (IS_TRAINING || hasRoom()) {
        rehearse();
        Self.trimMemory();
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        LOG.log(
            Level.INFO,
            "event=rehearsed calls={0} millis={1}",
            calls.toString(),
            Long.toString(millis));
      } else {
        LOG.log(Level.DEBUG, "event=rehearsal_skipped");
      }
    } catch (InterruptedException | ClosedByInterruptException e) {
      LOG.log(Level.DEBUG, "event=rehearsal_interrupted");
    } catch (Exception e) {
      LOG.log(Level.WARNING, "event=rehearsal_failed, ignoring", e);
    }
  }

  private boolean hasRoom() {
    var latest = parts.pressure().latest();
    return LEAST_LIMITS.entrySet().stream()
        .allMatch(least -> latest.of(least.getKey()).limit() >= least.getValue());
  }

  /** Opens doors to boxes of its own, on a socket that no one else can find. */
  private void rehearse() throws Exception {
    var own = new Metrics();
    Path socket = parts.settings().home().resolve("own.sock");
    var boxes =
        BoxRegistry.forRehearsal(parts.engine(), own, parts.pressure(), parts.quotas(), POOL);
    try (boxes) {
      var addresses =
          new Listeners.Addresses(socket, Optional.empty(), Optional.empty(), Set.of(), 2);
      var listeners =
          Listeners.of(addresses, parts.pressure().latest().of(Resource.DESCRIPTORS).limit());
      try {
        listeners.start(
            DaemonDoors.open(parts.settings(), boxes, parts.watches(), parts.gate(), own));
        try (var client = OwnClient.connect(socket)) {
          Files.delete(socket);
          play(client);
        }
      } finally {
        listeners.stop();
      }
    }
  }

  // --- what it does ---

  private void play(OwnClient client) throws IOException, InterruptedException, JsonException {
    String box = "/v1/boxes/" + call(client, "POST", "/v1/boxes", "{}").string("id");
    String contexts = box + "/contexts";
    String context = call(client, "POST", contexts, "{\"language\":\"python\"}").string("id");
    for (int round = 0; round < ROUNDS && !end.isOver(); round++) {
      play(client, box, contexts + "/" + context, round);
    }
    if (IS_TRAINING) {
      playTheRest(client, box);
    }
    call(client, "DELETE", box + "?force=true");
  }

  private void play(OwnClient client, String box, String context, int round)
      throws IOException, InterruptedException {
    for (int i = 0; i < 2; i++) {
      call(client, "POST", "/v1/run", "{\"exec\":" + TRUE + "}");
      call(client, "POST", box + "/execs?wait=true", TRUE);
    }
    call(client, "POST", context + "/cells", "{\"code\":\"1+1\"}");
    call(client, "GET", "/v1/boxes");
    if (round % 3 == 0) {
      call(client, "POST", "/v1/code", PYTHON);
      String file = box + "/files?path=" + URLEncoder.encode("/tmp/file", StandardCharsets.UTF_8);
      call(client, "PUT", file, "text");
      call(client, "GET", file);
      call(client, "GET", box);
      call(client, "GET", "/v1/version");
      call(client, "GET", "/metrics");
    }
  }

  /** Calls whose classes belong in the start-up cache, though they are too rare to rehearse. */
  private void playTheRest(OwnClient client, String box)
      throws IOException, InterruptedException, JsonException {
    for (String code :
        List.of("javascript\",\"code\":\"console.log(1)", "bash\",\"code\":\"true")) {
      call(client, "POST", "/v1/code", "{\"language\":\"" + code + "\"}");
    }
    String exec = box + "/execs/";
    long number =
        call(client, "POST", box + "/execs", "{\"command\":[\"sleep\",\"60\"]}").number("number");
    call(client, "POST", exec + number + "/kill?graceMillis=0", "");
    call(client, "POST", box + "/pause", "");
    call(client, "POST", box + "/resume", "");
    call(client, "GET", "/v1/pressure");
    call(client, "GET", "/v1/pool");
    call(client, "GET", "/v1/openapi.json");
  }

  private void call(OwnClient client, String method, String path)
      throws IOException, InterruptedException {
    var _ = call(client, method, path, "");
  }

  @CanIgnoreReturnValue
  private JsonObject call(OwnClient client, String method, String path, String body)
      throws IOException, InterruptedException {
    var _ = end.untilInterrupted(LOOK, () -> IS_TRAINING || isItsTurn());
    calls.incrementAndGet();
    askedAt = System.nanoTime();
    return client.call(method, path, body);
  }

  /** Callers go first, and other work of the host for a while. */
  private boolean isItsTurn() {
    long now = System.nanoTime();
    long asked = parts.metrics().requests();
    if (asked != seen || parts.metrics().isServing()) {
      seen = asked;
      quietSince = now;
    }
    return now - quietSince >= QUIET_NANOS
        && (now - askedAt >= CROWDED_NANOS || ProcFs.runnable() <= CROWD);
  }
}
