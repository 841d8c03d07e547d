/**
 * What looks after the host: releasing what a dead runtime left, and comparing host with ledger.
 *
 * <p>Identity is pid and start time, or a cgroup that the ledger names; never a process's name. May
 * use the layers below.
 */
@NullMarked
package dev.ebb.supervision;

import org.jspecify.annotations.NullMarked;
