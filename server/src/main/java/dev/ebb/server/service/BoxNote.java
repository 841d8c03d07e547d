package dev.ebb.server.service;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.Network;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Facts about a box for the next daemon, beyond the record of the engine. */
record BoxNote(
    String tenant,
    BoxOrder order,
    Instant createdAt,
    Optional<BoxRegistry.Idempotency> idempotency) {
  private static final String LABEL = "label ";
  private static final String GOES_WITH_COMMAND = "goes-with-command";
  private static final String ATTACHED = "attached";

  Map<String, String> fields() {
    var fields = new LinkedHashMap<String, String>();
    fields.put("tenant", tenant);
    fields.put("created", createdAt.toString());
    order.name().ifPresent(name -> fields.put("name", name));
    order.labels().forEach((key, value) -> fields.put(LABEL + key, value));
    order.ttl().ifPresent(ttl -> fields.put("ttl", ttl.toString()));
    order.idleTimeout().ifPresent(idle -> fields.put("idle", idle.toString()));
    if (!order.detached()) {
      fields.put(ATTACHED, "true");
    }
    if (order.goesWithCommand()) {
      fields.put(GOES_WITH_COMMAND, "true");
    }
    idempotency.ifPresent(
        once -> {
          fields.put("key", once.key());
          fields.put("digest", once.digest());
        });
    return fields;
  }

  /**
   * Makes the note for the record of a box with this network, made by {@code backend}, without its
   * files.
   */
  BoxNote asMade(Network network, Optional<String> backend) {
    BoxSpec spec = order.spec();
    var bare =
        new BoxSpec(spec.limits(), network, spec.mounts(), spec.packages(), List.of(), backend);
    var known =
        new BoxOrder(
            order.name(),
            order.labels(),
            bare,
            order.ttl(),
            order.idleTimeout(),
            order.detached(),
            order.goesWithCommand());
    return new BoxNote(tenant, known, createdAt, idempotency);
  }

  /** Makes the note of a box without a record: it has no tenant, so only admins see it. */
  static BoxNote unknown(BoxSpec spec) {
    return parse(Map.of(), spec);
  }

  static BoxNote parse(Map<String, String> fields, BoxSpec spec) {
    var labels = new TreeMap<String, String>();
    fields.forEach(
        (key, value) -> {
          if (key.startsWith(LABEL)) {
            labels.put(key.substring(LABEL.length()), value);
          }
        });
    var order =
        new BoxOrder(
            Optional.ofNullable(fields.get("name")),
            labels,
            spec,
            Optional.ofNullable(fields.get("ttl")).map(Duration::parse),
            Optional.ofNullable(fields.get("idle")).map(Duration::parse),
            !fields.containsKey(ATTACHED),
            fields.containsKey(GOES_WITH_COMMAND));
    var idempotency =
        Optional.ofNullable(fields.get("key"))
            .map(key -> new BoxRegistry.Idempotency(key, fields.getOrDefault("digest", "")));
    return new BoxNote(
        fields.getOrDefault("tenant", ""),
        order,
        Optional.ofNullable(fields.get("created")).map(Instant::parse).orElseGet(Instant::now),
        idempotency);
  }
}
