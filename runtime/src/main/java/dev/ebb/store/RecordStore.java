package dev.ebb.store;

/**
 * The one place for records: what is remembered of boxes, of their execs, of boxes that have ended,
 * and of tenants. A record is a value; nothing in here leads to a living box. Thread-safe.
 */
public interface RecordStore extends TenantRecords {
  /** The record of a detached box and of its execs, which the next engine reads. */
  Journal box(String id);

  /**
   * The records of boxes that end with their daemon. One process writes them: the daemon of the
   * home.
   */
  Journal history();
}
