package dev.ebb.engine;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/**
 * How many ended boxes are remembered: the latest {@code count}, and none for longer than {@code
 * age}.
 */
public record History(int count, Duration age) {
  /** Nothing is forgotten. */
  public static final History ALL = new History(Integer.MAX_VALUE, Duration.ofDays(365_000));

  /** Returns those of {@code ended} to forget, the latest first. */
  public <T> List<T> expired(Collection<T> ended, Function<T, Instant> endedAt, Instant now) {
    Instant past = now.minus(age);
    List<T> latestFirst =
        ended.stream().sorted(Comparator.comparing(endedAt, Comparator.reverseOrder())).toList();
    long recent =
        latestFirst.stream().takeWhile(each -> !endedAt.apply(each).isBefore(past)).count();
    return latestFirst.subList((int) Math.min(recent, count), latestFirst.size());
  }
}
