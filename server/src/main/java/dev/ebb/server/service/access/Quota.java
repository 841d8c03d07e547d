package dev.ebb.server.service.access;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Limits;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.stream.Stream;

/**
 * The most that a tenant may have at a time; kinds without a limit are unlimited.
 *
 * @param limits by kind: memory in bytes, the rate in requests a second
 */
public record Quota(Map<Kind, Double> limits) {
  public static final Quota NONE = new Quota(Map.of());

  /** A box or a command may end at any moment, so a better value is not known. */
  private static final Duration RETRY = Duration.ofSeconds(2);

  /** What a quota counts. Memory, processors and pids are the sums of the limits of its boxes. */
  public enum Kind {
    BOXES,
    EXECS,
    MEMORY,
    CPUS,
    PIDS,
    RATE;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }

    public static Optional<Kind> parse(String name) {
      return Stream.of(values()).filter(kind -> kind.wireName().equals(name)).findFirst();
    }

    private boolean isWhole() {
      return this == BOXES || this == EXECS || this == PIDS;
    }
  }

  public Quota {
    limits = Map.copyOf(limits);
    limits.forEach(Quota::requireSense);
  }

  private static void requireSense(Kind kind, double limit) {
    boolean isWhole = limit == Math.rint(limit);
    if (!(limit >= 0) || Double.isInfinite(limit) || (kind.isWhole() && !isWhole)) {
      throw new IllegalArgumentException("bad quota of " + kind.wireName() + ": " + limit);
    }
  }

  /** Returns a copy with a limit of this kind, parsed from {@code text}. */
  public Quota with(Kind kind, String text) {
    try {
      double limit =
          kind == Kind.MEMORY ? (double) ByteSize.parse(text).bytes() : Double.parseDouble(text);
      var all = new EnumMap<Kind, Double>(Kind.class);
      all.putAll(limits);
      all.put(kind, limit);
      return new Quota(all);
    } catch (IllegalArgumentException e) {
      String wanted =
          switch (kind) {
            case MEMORY -> "a size, as 2g";
            case CPUS, RATE -> "a number";
            case BOXES, EXECS, PIDS -> "a whole number";
          };
      throw new IllegalArgumentException(
          "the quota of " + kind.wireName() + " is \"" + text + "\", but must be " + wanted, e);
    }
  }

  /** Returns these limits, with those of {@code other} for kinds without one. */
  public Quota or(Quota other) {
    var all = new EnumMap<Kind, Double>(Kind.class);
    all.putAll(other.limits);
    all.putAll(limits);
    return new Quota(all);
  }

  /** Returns whether it has no limit, so nothing needs to be counted. */
  public boolean isNone() {
    return limits.isEmpty();
  }

  /** Returns what a box of these limits counts for. */
  public static Map<Kind, Double> ofBox(Limits box) {
    return Map.of(
        Kind.BOXES,
        1.0,
        Kind.MEMORY,
        (double) box.memory().bytes(),
        Kind.CPUS,
        box.cpus(),
        Kind.PIDS,
        (double) box.pids());
  }

  /** Refuses an amount that would exceed the limit. */
  public void check(Kind kind, double use, double more) {
    Double limit = limits.get(kind);
    if (limit != null && use + more > limit) {
      throw refusal(kind, use, limit, RETRY);
    }
  }

  SandboxException refusal(Kind kind, double use, double limit, Duration retryAfter) {
    return SandboxException.later(
        ErrorCode.QUOTA,
        "the quota of %s is %s, and %s is used"
            .formatted(kind.wireName(), plain(limit), plain(use)),
        retryAfter,
        Map.of("quota", kind.wireName(), "limit", limit, "use", use));
  }

  private static String plain(double number) {
    return number == Math.rint(number) ? Long.toString((long) number) : Double.toString(number);
  }

  /** Formats it as {@code boxes=10 memory=2147483648}. */
  @Override
  public String toString() {
    var text = new StringJoiner(" ");
    for (Kind kind : Kind.values()) {
      Double limit = limits.get(kind);
      if (limit != null) {
        text.add(kind.wireName() + "=" + plain(limit));
      }
    }
    return text.toString();
  }

  /** Parses the format of {@link #toString}. */
  static Quota parse(String text) {
    Quota quota = NONE;
    for (String word : text.strip().split(" +")) {
      int equals = word.indexOf('=');
      Optional<Kind> kind = equals < 0 ? Optional.empty() : Kind.parse(word.substring(0, equals));
      if (kind.isPresent()) {
        quota = quota.with(kind.get(), word.substring(equals + 1));
      }
    }
    return quota;
  }
}
