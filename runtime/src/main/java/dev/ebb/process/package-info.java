/**
 * Process identity, trees as /proc shows them, reaping, and the ways a command can end.
 *
 * <p>A process is a pid and a start time, never a bare number. May use ledger, store, cgroup and
 * kernel.
 */
@NullMarked
package dev.ebb.process;

import org.jspecify.annotations.NullMarked;
