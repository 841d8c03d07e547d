package dev.ebb.server.service;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.LongSupplier;

/** Reserves the last eighth of the host uids for tenants that have few boxes. */
final class UidShare {
  private static final int KEPT_BACK = 8;

  /** Few means a sixty-fourth of all. */
  private static final int FEW = 64;

  private static final Duration RETRY = Duration.ofSeconds(2);

  private UidShare() {}

  /**
   * Refuses a box to a tenant that has many boxes when few uids are left.
   *
   * @param most empty: all boxes share one uid
   */
  static void require(OptionalInt most, int left, LongSupplier boxes) {
    if (most.isEmpty() || left > most.getAsInt() / KEPT_BACK) {
      return;
    }
    long mine = boxes.getAsLong();
    if (mine >= most.getAsInt() / FEW) {
      throw SandboxException.later(
          ErrorCode.QUOTA,
          "this tenant has %d boxes, and the last %d host uids are for others"
              .formatted(mine, left),
          RETRY,
          Map.of("reason", "uids"));
    }
  }
}
