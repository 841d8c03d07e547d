package dev.ebb.admission;

/**
 * The percentage at which each level begins, and how far below it the level ends, so that a value
 * that hovers around a threshold causes one change only.
 */
public record Thresholds(double warn, double alert, double full, double hysteresis) {
  public static final Thresholds DEFAULT = new Thresholds(60, 80, 95, 5);

  public Thresholds {
    if (!(warn > 0 && warn < alert && alert < full && full <= 100)) {
      throw new IllegalArgumentException(
          "pressure thresholds must rise: 0 < warn %s < alert %s < full %s <= 100"
              .formatted(warn, alert, full));
    }
    if (!(hysteresis >= 0 && hysteresis < warn)) {
      throw new IllegalArgumentException("bad hysteresis " + hysteresis);
    }
  }

  /** Returns the level at {@code percent} after the level {@code before}. */
  public PressureLevel level(double percent, PressureLevel before) {
    PressureLevel entered = entered(percent);
    PressureLevel stays = entered(percent + hysteresis);
    // The wider band keeps the level before, and never raises it.
    PressureLevel kept = stays.compareTo(before) < 0 ? stays : before;
    return entered.isAtLeast(kept) ? entered : kept;
  }

  private PressureLevel entered(double percent) {
    if (percent >= full) {
      return PressureLevel.FULL;
    } else if (percent >= alert) {
      return PressureLevel.ALERT;
    }
    return percent >= warn ? PressureLevel.WARN : PressureLevel.OK;
  }
}
