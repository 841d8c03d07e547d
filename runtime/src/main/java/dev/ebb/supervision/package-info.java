/**
 * Supervision of the host: releases the leftovers of dead runtimes, and compares host and ledger.
 *
 * <p>Identity is pid and start time, or a cgroup that the ledger names; never the name of a
 * process. May use the layers below.
 */
@NullMarked
package dev.ebb.supervision;

import org.jspecify.annotations.NullMarked;
