package dev.ebb.server.service;

import dev.ebb.egress.Decision;
import dev.ebb.model.BoxState;
import dev.ebb.model.Network;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;

/** Publishes the events of one box to its tenant. Thread-safe. */
final class BoxNews {
  private static final Logger LOG = System.getLogger(BoxNews.class.getName());

  private final Events events;
  private final TenantBox box;

  /** How the usual events of a box are logged. */
  private final Level usual;

  private final EgressNews egress = new EgressNews();
  private final AtomicBoolean isMade = new AtomicBoolean();

  BoxNews(Facilities facilities, TenantBox box) {
    events = facilities.events();
    usual = facilities.isRehearsal() ? Level.DEBUG : Level.INFO;
    this.box = box;
  }

  void publish(BoxState state) {
    log(state);
    var data = describe("state", state.wireName());
    if (state == BoxState.GONE || state == BoxState.STUCK) {
      box.certificate().ifPresent(proof -> data.put("certificate", proof));
    }
    events.publish(box.tenant(), "box", data);
  }

  /** Logs the first and the last state of a box. */
  private void log(BoxState state) {
    String tenant = box.tenant();
    switch (state) {
      case RUNNING -> {
        if (!isMade.getAndSet(true)) {
          LOG.log(usual, "event=box_created box={0} tenant={1}", box.id(), tenant);
        }
      }
      case GONE ->
          LOG.log(
              usual,
              "event=box_gone box={0} tenant={1} by={2}",
              box.id(),
              tenant,
              box.endedBy().map(EndedBy::wireName).orElse("itself"));
      case STUCK -> LOG.log(Level.WARNING, "event=box_stuck box={0} tenant={1}", box.id(), tenant);
      case LOST -> LOG.log(Level.WARNING, "event=box_lost box={0} tenant={1}", box.id(), tenant);
      case CREATING, PAUSED, STOPPING, UNREACHABLE -> {}
    }
  }

  void publish(Network network) {
    events.publish(box.tenant(), "network", describe("network", network.toString()));
  }

  void publishStart(TenantExec exec) {
    LOG.log(
        Level.DEBUG,
        "event=exec_started box={0} exec={1} tenant={2}",
        box.id(),
        Integer.toString(exec.number()),
        box.tenant());
    publish(exec, Map.of("state", "running"));
  }

  void publishEnd(TenantExec exec, Map<String, Object> how) {
    LOG.log(
        usual,
        "event=exec_ended box={0} exec={1} tenant={2} status={3} exit_code={4}",
        box.id(),
        Integer.toString(exec.number()),
        box.tenant(),
        how.getOrDefault("status", "not-started"),
        String.valueOf(how.getOrDefault("exitCode", "none")));
    var what = new LinkedHashMap<String, Object>(Map.of("state", "ended"));
    what.putAll(how);
    publish(exec, what);
  }

  private void publish(TenantExec exec, Map<String, Object> what) {
    var data = describe("exec", exec.number());
    data.putAll(what);
    events.publish(box.tenant(), "exec", data);
  }

  /** Publishes a request to the proxy of the box, unless there were too many lately. */
  void publish(Decision decision) {
    OptionalLong omitted = egress.admit(System.nanoTime());
    if (omitted.isPresent()) {
      var data = describe("outcome", decision.outcome().wireName());
      if (!decision.destination().isEmpty()) {
        data.put("destination", decision.destination());
      }
      if (omitted.getAsLong() > 0) {
        data.put("omitted", omitted.getAsLong());
      }
      String event = decision.isAllowed() ? "egress_allowed" : "egress_refused";
      events.publish(box.tenant(), event, data);
    }
  }

  private Map<String, Object> describe(String key, Object value) {
    var data = new LinkedHashMap<String, Object>();
    data.put("box", box.id());
    box.order().name().ifPresent(name -> data.put("name", name));
    data.put(key, value);
    box.endedBy().ifPresent(reason -> data.put("reason", reason.wireName()));
    return data;
  }
}
