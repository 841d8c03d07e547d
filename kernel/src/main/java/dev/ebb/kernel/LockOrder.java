package dev.ebb.kernel;

/**
 * The order of all locks: a thread that holds a lock may only take locks that stand below it.
 *
 * <p>{@link OrderedLock} checks this wherever assertions are enabled, as they are in every test.
 * Two locks of the same place are never held together. A lock that is {@code brief} is held for
 * computing and local file access only, so a thread that waits long for one waits in vain; the
 * others may be held while the holder waits for a process, a peer or a deadline.
 */
public enum LockOrder {
  // --- doors ---
  DOOR_OPENING(false),
  DOOR_SESSION(true),
  DOOR_CALL(true),
  DOOR_STREAM(false),

  // --- server ---
  TENANT_TURN(false),
  CONTEXT_RESTART(false),
  CONTEXT_CREATE(false),
  SWEEPING(false),
  SWEEPER(true),
  BOX_COUNTS(true),
  DEPARTURES(true),
  GUESTS(true),
  BASELINE(true),
  PRESSURE_NEWS(true),
  PRESSURE_READING(true),

  // --- runtime ---
  ENGINE_MAKING(false),
  ENGINE_AUDIT(false),
  POOL_SHELVES(true),
  POOL_PRELOADS(true),
  BOX_STARTING(false),
  BOX_RELEASE(false),
  FORKSERVER_START(false),
  EXEC_FINISH(false),
  CONTEXT(true),
  RUNNER_SOCKET_RECEIVE(true),
  STDIN_WRITE(false),
  RUNNER_SOCKET_SEND(false),
  BOX_STATE(true),
  EXEC(true),
  CELL(true),
  EGRESS(false),
  FORKSERVER_SEND(false),
  INIT_QUESTION(false),
  INIT_SEND(false),
  INIT_RECEIVE(true),
  INIT_STATE(true),
  FORKSERVER_STATE(true),
  ADMISSION(true),
  GAUGES(true),
  ENGINE_RETRIES(true),
  RELEASE_BACKLOG(true),
  CERTIFICATES(true),
  EVENTS(true),
  TENANT_MEMORY(true),
  REAPER(true),
  LEDGER(true),
  JOURNAL(true),

  // --- kernel ---
  RESERVE(true),

  // --- below all, for anyone may log ---
  LOG_QUEUE(true);

  private final boolean brief;

  LockOrder(boolean brief) {
    this.brief = brief;
  }

  public boolean isBrief() {
    return brief;
  }
}
