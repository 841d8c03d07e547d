package dev.ebb.torture;

import dev.ebb.oracle.Invariant;
import java.time.Duration;

/**
 * A promise that was broken.
 *
 * @param where the round, or the look at the whole, that saw it
 * @param at since the beginning
 */
record Violation(Invariant invariant, String what, String where, Duration at) {}
