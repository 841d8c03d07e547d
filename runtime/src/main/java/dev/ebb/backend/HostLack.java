package dev.ebb.backend;

/**
 * A requirement of a backend that the host does not meet.
 *
 * @param finding what was found
 * @param remedy what to do about it; empty if nothing
 */
public record HostLack(String finding, String remedy) {}
