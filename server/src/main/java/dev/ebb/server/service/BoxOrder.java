package dev.ebb.server.service;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.TenantMemory;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A request for a box.
 *
 * @param ttl how long it may live; empty: until it is ended
 * @param idleTimeout how long it may live without a command
 * @param detached whether it outlives the daemon, and the next daemon adopts it
 * @param goesWithCommand whether it is removed when its first command has ended, even by a later
 *     daemon
 */
public record BoxOrder(
    Optional<String> name,
    Map<String, String> labels,
    BoxSpec spec,
    Optional<Duration> ttl,
    Optional<Duration> idleTimeout,
    boolean detached,
    boolean goesWithCommand) {

  /** The form of a name. */
  public static final Pattern NAME = Pattern.compile("[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}");

  private static final int MOST_LABELS = 64;
  private static final int LONGEST_LABEL = 256;

  /** The memory of every box. */
  private static final long OVERHEAD = 16 * 1024;

  public BoxOrder {
    labels = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(labels));
    name.ifPresent(BoxOrder::checkName);
    require(labels.size() <= MOST_LABELS, "more than " + MOST_LABELS + " labels");
    labels.forEach(BoxOrder::checkLabel);
    ttl.ifPresent(time -> require(time.isPositive(), "ttlMillis must be positive"));
    idleTimeout.ifPresent(time -> require(time.isPositive(), "idleTimeoutMillis must be positive"));
  }

  public static BoxOrder of(BoxSpec spec) {
    return new BoxOrder(
        Optional.empty(), Map.of(), spec, Optional.empty(), Optional.empty(), false, false);
  }

  /** Returns this order for a box that is removed with its first command. */
  public BoxOrder forOneCommand() {
    return new BoxOrder(name, labels, spec, ttl, idleTimeout, true, true);
  }

  /** Returns how much memory of the daemon a box of this order takes, until it is forgotten. */
  long weight() {
    long weight = OVERHEAD + TenantMemory.of(labels.keySet()) + TenantMemory.of(labels.values());
    for (var mount : spec.mounts()) {
      weight += TenantMemory.of(mount.host().toString()) + TenantMemory.of(mount.box());
    }
    for (var packages : spec.packages()) {
      weight += TenantMemory.of(packages.toString());
    }
    return weight + TenantMemory.of(spec.network().policy().rules());
  }

  private static void checkName(String name) {
    require(
        NAME.matcher(name).matches(),
        "bad name \"%s\": use up to 63 of letters, digits, _ . and -, not starting with a sign"
            .formatted(name));
    require(!BoxNames.isId(name), "the name \"" + name + "\" looks like the id of a box");
  }

  private static void checkLabel(String key, String value) {
    require(
        !key.isEmpty() && key.length() <= LONGEST_LABEL && value.length() <= LONGEST_LABEL,
        "a label needs a key, and at most " + LONGEST_LABEL + " characters in key and value");
    require(key.indexOf('=') < 0, "the key of a label cannot hold \"=\"");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, message);
    }
  }
}
