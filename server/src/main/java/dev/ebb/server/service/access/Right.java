package dev.ebb.server.service.access;

/** What a request asks for, and a key allows. */
public enum Right {
  /** To read the metrics. */
  METRICS,
  /** To read what belongs to the tenant. */
  READ,
  /** To change what belongs to the tenant: to make, use and end boxes. */
  USE,
  /** To operate the daemon, and to touch what belongs to any tenant. */
  ADMIN
}
