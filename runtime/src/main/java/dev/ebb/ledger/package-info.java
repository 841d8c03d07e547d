/**
 * The durable list of what may exist on the host, and the proof that it no longer does.
 *
 * <p>Invariant: host resources of a living instance are a subset of its ledger. Uses kernel only.
 */
@NullMarked
package dev.ebb.ledger;

import org.jspecify.annotations.NullMarked;
