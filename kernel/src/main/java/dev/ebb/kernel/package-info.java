/**
 * The kernel's objects with their owners: descriptors, pidfds, sockets, the poller.
 *
 * <p>The only code with native access. A call that acquires takes its {@link dev.ebb.kernel.Scope}
 * first; failures are {@link dev.ebb.kernel.KernelException} with the errno; raw numbers do not
 * leave this package. Uses nothing else of Ebb.
 */
@NullMarked
package dev.ebb.kernel;

import org.jspecify.annotations.NullMarked;
