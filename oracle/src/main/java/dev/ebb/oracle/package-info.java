/**
 * Looks at the real host for what Ebb may have left there: {@link dev.ebb.oracle.Snapshot} is what
 * was there before, a {@link dev.ebb.oracle.Detector} finds one kind of thing, and {@link
 * dev.ebb.oracle.Invariant} is the promise that it would break.
 *
 * <p>Tests and {@code ebb torture} are judged by it. May use the kernel module, never the runtime:
 * the oracle must not share code with what it judges.
 */
@NullMarked
package dev.ebb.oracle;

import org.jspecify.annotations.NullMarked;
