/**
 * The crash points: every step after which the host is not as before, in one table.
 *
 * <p>Inert, unless a system property of a test arms one. Uses kernel only.
 */
@NullMarked
package dev.ebb.fault;

import org.jspecify.annotations.NullMarked;
