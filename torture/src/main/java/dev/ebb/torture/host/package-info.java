/**
 * A daemon on a home of its own: {@link dev.ebb.torture.host.ServedHome}. May use the client, the
 * kernel and the oracle, never the runtime, which it tests.
 */
@NullMarked
package dev.ebb.torture.host;

import org.jspecify.annotations.NullMarked;
