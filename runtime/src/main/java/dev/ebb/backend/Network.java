package dev.ebb.backend;

/** What of the network a box sees. */
public enum Network {
  /** A loopback of its own and nothing else. */
  NONE,
  /** The host's. */
  HOST
}
