/**
 * The crash points: one table of every step that changes the host.
 *
 * <p>Inert, unless a test arms one by a system property. Uses kernel only.
 */
@NullMarked
package dev.ebb.fault;

import org.jspecify.annotations.NullMarked;
