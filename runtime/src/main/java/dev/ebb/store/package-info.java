/**
 * Ebb's home directory and the instances in it.
 *
 * <p>All state lies in one home. An instance is a lock, a directory and a cgroup subtree; a free
 * lock means that it is dead. May use fault, ledger and kernel.
 */
@NullMarked
package dev.ebb.store;

import org.jspecify.annotations.NullMarked;
