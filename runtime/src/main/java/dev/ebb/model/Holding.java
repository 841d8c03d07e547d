package dev.ebb.model;

/** One line of the ledger: a resource that may exist on the host, and its box. */
public record Holding(long number, String box, Kind kind, String subject) {}
