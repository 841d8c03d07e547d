package dev.ebb.admission;

/**
 * The result of one gauge: of all limits that apply, the one nearest to its end.
 *
 * @param limit {@link Long#MAX_VALUE} where there is none
 * @param source the file or setting that sets the limit
 */
public record Reading(
    Resource resource, long use, long limit, String source, double percent, PressureLevel level) {

  static Reading of(Resource resource, Amount amount, Thresholds thresholds, PressureLevel before) {
    double percent = amount.percent();
    PressureLevel level = thresholds.level(percent, before);
    boolean isMild =
        level.isAtLeast(PressureLevel.ALERT) && resource.isPlenty(amount.limit() - amount.use());
    return new Reading(
        resource,
        amount.use(),
        amount.limit(),
        amount.source(),
        percent,
        isMild ? PressureLevel.WARN : level);
  }

  public boolean hasLimit() {
    return limit != Amount.NO_LIMIT;
  }

  /** For people: {@code pids 241 of 300 (80 %, /sys/fs/cgroup/pids.max)}. */
  @Override
  public String toString() {
    return "%s %d of %s (%.0f %%, %s)"
        .formatted(resource.wireName(), use, hasLimit() ? limit : "any", percent, source);
  }
}
