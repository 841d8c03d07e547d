package dev.ebb.backend;

/**
 * What a host lacks.
 *
 * @param finding what was found
 * @param remedy what to do about it; empty: nothing need be done
 */
public record HostLack(String finding, String remedy) {}
