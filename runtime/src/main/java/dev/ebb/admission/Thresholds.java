package dev.ebb.admission;

/**
 * From which percentage on a level holds, and how far below it ends: so one that hovers around a
 * threshold is entered once.
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

  /** The level at {@code percent}, coming from {@code before}. */
  public PressureLevel level(double percent, PressureLevel before) {
    PressureLevel entered = entered(percent);
    PressureLevel stays = entered(percent + hysteresis);
    // A level is kept only if it was there before, and at most as high as it was.
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
