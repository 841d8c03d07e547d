package dev.ebb.server.service;

import dev.ebb.egress.Decision;
import dev.ebb.model.BoxState;
import dev.ebb.model.Network;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;

/** Publishes the events of one box to its tenant. Thread-safe. */
final class BoxNews {
  private final Events events;
  private final TenantBox box;
  private final EgressNews egress = new EgressNews();

  BoxNews(Events events, TenantBox box) {
    this.events = events;
    this.box = box;
  }

  void publish(BoxState state) {
    events.publish(box.tenant(), "box", describe("state", state.wireName()));
  }

  void publish(Network network) {
    events.publish(box.tenant(), "network", describe("network", network.toString()));
  }

  void publish(TenantExec exec, Map<String, Object> what) {
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
