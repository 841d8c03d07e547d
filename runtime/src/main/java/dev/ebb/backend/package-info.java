/**
 * What a sandbox is made of, whoever makes it.
 *
 * <p>Values only. May use the layers below: ledger, store, cgroup, process.
 */
@NullMarked
package dev.ebb.backend;

import org.jspecify.annotations.NullMarked;
