package dev.ebb.server.service.access;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the holder of a key may do. */
public enum Role {
  METRICS,
  VIEWER,
  USER,
  ADMIN;

  /** Returns whether the role has a right; nothing else decides that. */
  public boolean has(Right right) {
    return switch (this) {
      case METRICS -> right == Right.METRICS;
      case VIEWER -> right == Right.READ;
      case USER -> right == Right.READ || right == Right.USE;
      case ADMIN -> true;
    };
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Finds a role by its name. */
  public static Optional<Role> parse(String word) {
    return Stream.of(values()).filter(role -> role.wireName().equals(word)).findFirst();
  }

  /** Returns the names of all roles, for a message. */
  public static String names() {
    return Stream.of(values()).map(Role::wireName).collect(Collectors.joining(", "));
  }

  /** Returns the names of the roles that have a right. */
  public static List<String> namesWith(Right right) {
    return Stream.of(values()).filter(role -> role.has(right)).map(Role::wireName).toList();
  }
}
