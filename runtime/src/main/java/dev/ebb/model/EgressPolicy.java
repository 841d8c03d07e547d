package dev.ebb.model;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The names and ports that a box may reach through its proxy; the proxy refuses all others. */
public final class EgressPolicy {
  /** Allows nothing. */
  public static final EgressPolicy NOTHING = new EgressPolicy(List.of());

  private static final int MOST_RULES = 256;

  private final List<EgressRule> rules;

  private EgressPolicy(List<EgressRule> rules) {
    this.rules = List.copyOf(rules);
  }

  /**
   * Parses rules such as {@code example.org}, {@code example.org:8443}, {@code *.example.org}.
   *
   * @throws IllegalArgumentException with the rule and what is wrong with it
   */
  public static EgressPolicy parse(List<String> rules) {
    if (rules.size() > MOST_RULES) {
      throw new IllegalArgumentException("more than " + MOST_RULES + " egress rules");
    }
    return new EgressPolicy(rules.stream().map(EgressRule::parse).distinct().toList());
  }

  public boolean isEmpty() {
    return rules.isEmpty();
  }

  /** Returns the rules in canonical form. */
  public List<String> rules() {
    return rules.stream().map(EgressRule::toString).toList();
  }

  public boolean allows(Destination destination) {
    return rules.stream().anyMatch(rule -> rule.allows(destination));
  }

  /** Returns the first rule of {@code asked} that allows more than this policy does. */
  public Optional<String> firstBeyond(EgressPolicy asked) {
    return asked.rules.stream()
        .filter(rule -> rules.stream().noneMatch(own -> own.covers(rule)))
        .map(EgressRule::toString)
        .findFirst();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof EgressPolicy policy && rules.equals(policy.rules);
  }

  @Override
  public int hashCode() {
    return rules.hashCode();
  }

  @Override
  public String toString() {
    return rules.stream().map(EgressRule::toString).collect(Collectors.joining(","));
  }
}
