/**
 * The one way out of a box that has no network: a proxy for HTTP and HTTPS to the names of its
 * policy. {@link dev.ebb.egress.Egress} is read first.
 *
 * <p>Uses the kernel alone. All connections of all boxes are one thread's, which never waits for
 * anything but readiness; nothing of a request is believed that was not understood whole; no
 * address is connected to that was not looked at.
 */
@NullMarked
package dev.ebb.egress;

import org.jspecify.annotations.NullMarked;
