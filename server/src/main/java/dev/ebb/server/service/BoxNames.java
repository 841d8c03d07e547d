package dev.ebb.server.service;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The names of boxes, each unique for its tenant and reserved before its box is made. Thread-safe.
 */
final class BoxNames {
  private static final Pattern ID = Pattern.compile("b[0-9a-f]{12}");

  /** The ids of boxes, including ended ones that are not forgotten. */
  private final Map<Key, String> names = new ConcurrentHashMap<>();

  private record Key(String tenant, String name) {
    SandboxException taken() {
      return new SandboxException(ErrorCode.CONFLICT, "the name \"" + name + "\" is taken");
    }
  }

  /** Returns whether a text has the form of an id, which no name may have. */
  static boolean isId(String text) {
    return ID.matcher(text).matches();
  }

  private static Optional<Key> keyOf(TenantBox box) {
    return box.order().name().map(name -> new Key(box.tenant(), name));
  }

  /** RACE: it may be taken a moment later; this check only avoids wasting a pooled box. */
  void requireFree(String tenant, Optional<String> name) {
    Optional<Key> key = name.map(word -> new Key(tenant, word));
    if (key.isPresent() && names.containsKey(key.get())) {
      throw key.get().taken();
    }
  }

  /** Reserves the name of a box, if it has one; a box whose name is taken is never made. */
  void reserve(TenantBox box) {
    Optional<Key> key = keyOf(box);
    if (key.isPresent() && names.putIfAbsent(key.get(), box.id()) != null) {
      SandboxException taken = key.get().taken();
      box.fail(taken);
      throw taken;
    }
  }

  /** Takes over the name of an existing box, unless another has it. */
  void adopt(TenantBox box) {
    keyOf(box).ifPresent(key -> names.putIfAbsent(key, box.id()));
  }

  /** Returns the id of the box with this name. */
  Optional<String> find(String tenant, String name) {
    return Optional.ofNullable(names.get(new Key(tenant, name)));
  }

  void forget(TenantBox box) {
    keyOf(box).ifPresent(key -> names.remove(key, box.id()));
  }
}
