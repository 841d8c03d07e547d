package dev.ebb.server.service;

import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The reason for the end of a box. */
public enum EndedBy {
  REQUEST,
  TTL,
  IDLE,
  DRAIN,
  PRESSURE,
  DIED,

  /** Its daemon died. */
  DAEMON;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Parses a reason; empty for one that only another version knows. */
  static Optional<EndedBy> parse(@Nullable String word) {
    return Stream.of(values()).filter(each -> each.wireName().equals(word)).findFirst();
  }
}
