package dev.ebb.mcp;

import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.DoorSessions;
import dev.ebb.server.service.Rounds;
import dev.ebb.server.service.access.Caller;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;

/** The sessions of all tenants; ends those that are unused for too long. Thread-safe. */
final class Sessions implements DoorSessions {
  private static final Logger LOG = System.getLogger(Sessions.class.getName());
  private static final Duration ROUND = Duration.ofSeconds(1);
  private static final Duration RETRY = Duration.ofSeconds(30);

  private final Door.House house;
  private final ConcurrentMap<String, Session> all = new ConcurrentHashMap<>();
  private final ConcurrentMap<String, Integer> byTenant = new ConcurrentHashMap<>();
  private final AtomicLong begun = new AtomicLong();

  Sessions(Door.House house) {
    this.house = house;
    Rounds.begin("ebb-mcp-sessions", ROUND, house.boxes()::isDraining, this::endUnused);
  }

  /** Adds a session, unless its tenant has reached its limit of sessions. */
  void begin(Session session) {
    int most = house.sessions().most();
    if (byTenant.merge(session.tenant(), 1, Integer::sum) > most) {
      leave(session.tenant());
      session.giveBack();
      throw SandboxException.later(
          ErrorCode.QUOTA,
          "there are " + most + " sessions of MCP; end one, or raise mcp.sessions",
          RETRY,
          Map.of("reason", "mcp.sessions"));
    }
    all.put(session.id(), session);
    begun.incrementAndGet();
    session.begun();
  }

  private void leave(String tenant) {
    byTenant.computeIfPresent(tenant, (_, count) -> count == 1 ? null : count - 1);
  }

  Optional<Session> find(Caller caller, String id) {
    return Optional.ofNullable(all.get(id)).filter(session -> session.isOf(caller));
  }

  /** Ends a session and everything it made before this returns. */
  void end(Session session, Session.End reason) throws InterruptedException {
    if (!all.remove(session.id(), session)) {
      return;
    }
    leave(session.tenant());
    List<Certificate> certificates = session.end(reason);
    LOG.log(
        certificates.stream().allMatch(Certificate::isClean) ? Level.INFO : Level.WARNING,
        "event=mcp_session_ended session={0} reason={1} certificates={2}",
        session.shown(),
        reason.wireName(),
        certificates);
  }

  /** Ends a session in the background. */
  void endAsync(Session session, Session.End reason) {
    Thread.ofVirtual()
        .name("ebb-mcp-end-" + session.shown())
        .start(
            () -> {
              try {
                end(session, reason);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } catch (RuntimeException e) {
                LOG.log(Level.ERROR, "event=mcp_session_end_failed session=" + session.shown(), e);
              }
            });
  }

  private void endUnused() {
    Instant now = house.clock().instant();
    for (Session session : all.values()) {
      session.due(now, house.sessions().idle()).ifPresent(reason -> endAsync(session, reason));
    }
  }

  // --- for the operator ---

  @Override
  public List<DoorSessions.Entry> list(Caller caller) {
    return all.values().stream()
        .filter(session -> caller.mayTouch(session.tenant()))
        .map(Session::seen)
        .toList();
  }

  @Override
  public int open() {
    return all.size();
  }

  @Override
  public long begun() {
    return begun.get();
  }
}
