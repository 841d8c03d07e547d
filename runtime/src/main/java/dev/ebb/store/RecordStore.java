package dev.ebb.store;

/**
 * The store of all records: about boxes, their execs, ended boxes, and tenants. A record is a
 * value; none refers to a living box. Thread-safe.
 */
public interface RecordStore extends TenantRecords {
  /** Returns the record of a detached box and its execs, which the next engine reads. */
  Journal box(String id);

  /**
   * Returns the records of boxes that end with their daemon. Only the daemon of the home writes
   * them.
   */
  Journal history();

  /** Returns the certificates of removed boxes. Only the daemon of the home writes them. */
  Journal certificates();
}
