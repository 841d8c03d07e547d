/**
 * The only access of a box without a network: a proxy for HTTP and HTTPS to the names of its
 * policy. {@link dev.ebb.egress.Egress} is read first.
 *
 * <p>Uses only the kernel module. One thread serves all connections of all boxes, and waits only
 * for readiness. A request is used only if it was parsed completely, and an address only if it was
 * checked.
 */
@NullMarked
package dev.ebb.egress;

import org.jspecify.annotations.NullMarked;
