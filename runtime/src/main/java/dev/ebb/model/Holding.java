package dev.ebb.model;

/** One line of the ledger: something that may exist on the host, and for which box. */
public record Holding(long number, String box, Kind kind, String subject) {}
