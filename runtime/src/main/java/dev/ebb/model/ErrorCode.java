package dev.ebb.model;

import java.util.Locale;

/** The kinds of failures: which side is at fault, and whether a retry can help. */
public enum ErrorCode {
  BAD_REQUEST(Fault.CALLER, false),
  MOUNT_REFUSED(Fault.CALLER, false),
  WRONG_STATE(Fault.CALLER, false),
  NOT_FOUND(Fault.CALLER, false),
  FORBIDDEN(Fault.CALLER, false),
  CONFLICT(Fault.CALLER, false),
  NO_SPACE(Fault.CALLER, false),
  UNSUPPORTED(Fault.HOST, false),
  TOO_LARGE(Fault.CALLER, false),
  TIMED_OUT(Fault.CALLER, true),
  HOST_UNFIT(Fault.HOST, false),
  NO_USERS_LEFT(Fault.HOST, true),
  SETUP_FAILED(Fault.HOST, true),
  SETUP_TIMED_OUT(Fault.HOST, true),
  /** The daemon accepts no more work. */
  DRAINING(Fault.HOST, true),
  /** The host is short of a resource just now. */
  PRESSURE(Fault.HOST, true),
  /** The tenant has reached a limit of its quota. */
  QUOTA(Fault.CALLER, true),
  INTERRUPTED(Fault.CALLER, true),
  INTERNAL(Fault.US, false);

  /** The side that must change something. */
  public enum Fault {
    CALLER,
    HOST,
    US
  }

  private final Fault fault;
  private final boolean retryable;

  ErrorCode(Fault fault, boolean retryable) {
    this.fault = fault;
    this.retryable = retryable;
  }

  public Fault fault() {
    return fault;
  }

  public boolean isRetryable() {
    return retryable;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
