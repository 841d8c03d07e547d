package dev.ebb.server.http;

import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Where a request carries its key. May look at the whole head of the request. */
@FunctionalInterface
public interface KeyPlace {
  /** {@code Authorization: Bearer KEY}. */
  KeyPlace BEARER = authorization("Bearer");

  /** Returns the key; empty if there is none at this place. */
  Optional<String> find(Asked asked);

  /** Returns the query parameters that carry the key and belong to no route. */
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

  /** A header such as {@code X-API-Key: KEY}. */
  static KeyPlace header(String name) {
    return asked -> asked.header(name).map(String::strip);
  }

  static KeyPlace cookie(String name) {
    return asked -> asked.cookie(name);
  }

  /** A query parameter such as {@code ?token=KEY}; routes need not declare it. */
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

  /** Looks at this place first, then at {@code other}. */
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
