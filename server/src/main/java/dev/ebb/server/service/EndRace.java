package dev.ebb.server.service;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.Optional;

/** RACE: the end or removal of a box makes concurrent work fail in many ways, for one reason. */
final class EndRace {
  private EndRace() {}

  /** Returns the failure to report for failed work with a box. */
  static RuntimeException explain(
      TenantBox box, BoxMaking making, boolean isUnlisted, RuntimeException failure) {
    boolean isOurs =
        !(failure instanceof SandboxException known)
            || known.code() == ErrorCode.INTERNAL
            || known.code() == ErrorCode.SETUP_FAILED;
    if (making.hasFailed() || (isOurs && isUnlisted)) {
      return new SandboxException(
          ErrorCode.NOT_FOUND, "box " + box.id() + " is not there", failure);
    }
    if (isOurs && making.made().isPresent() && !box.state().isAlive()) {
      return new SandboxException(
          ErrorCode.WRONG_STATE,
          "box " + box.id() + " is not running but " + box.state().wireName(),
          failure);
    }
    return failure;
  }

  /** Returns whether the work failed because the end of the box was requested. */
  static boolean isByRequest(TenantBox box, RuntimeException failure) {
    return box.endedBy().equals(Optional.of(EndedBy.REQUEST))
        && box.meanwhile(failure) instanceof SandboxException known
        && (known.code() == ErrorCode.WRONG_STATE || known.code() == ErrorCode.NOT_FOUND);
  }
}
