package dev.ebb.server.http;

import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Where a request carries its key. A place may look at all of the request's head. */
@FunctionalInterface
public interface KeyPlace {
  /** {@code Authorization: Bearer KEY}. */
  KeyPlace BEARER = authorization("Bearer");

  /** The key; empty: there is none at this place. */
  Optional<String> find(Asked asked);

  /** The query parameters that are the key's and no route's. */
  default Set<String> queries() {
    return Set.of();
  }

  /** {@code Authorization: SCHEME KEY}. */
  static KeyPlace authorization(String scheme) {
    String prefix = scheme.toLowerCase(Locale.ROOT) + " ";
    return asked ->
        asked
            .header("Authorization")
            .filter(value -> value.toLowerCase(Locale.ROOT).startsWith(prefix))
            .map(value -> value.substring(prefix.length()).strip());
  }

  /** A header of its own, such as {@code X-API-Key: KEY}. */
  static KeyPlace header(String name) {
    return asked -> asked.header(name).map(String::strip);
  }

  static KeyPlace cookie(String name) {
    return asked -> asked.cookie(name);
  }

  /** A query parameter, such as {@code ?token=KEY}; no route need know it. */
  static KeyPlace query(String name) {
    return new KeyPlace() {
      @Override
      public Optional<String> find(Asked asked) {
        return asked.query(name);
      }

      @Override
      public Set<String> queries() {
        return Set.of(name);
      }
    };
  }

  /** This place, or the other one if there is no key here. */
  default KeyPlace or(KeyPlace other) {
    KeyPlace first = this;
    return new KeyPlace() {
      @Override
      public Optional<String> find(Asked asked) {
        return first.find(asked).or(() -> other.find(asked));
      }

      @Override
      public Set<String> queries() {
        var all = new HashSet<>(first.queries());
        all.addAll(other.queries());
        return all;
      }
    };
  }
}
