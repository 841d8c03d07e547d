/**
 * {@code ebb torture}: {@link dev.ebb.torture.Torture} starts a daemon of its own, {@link
 * dev.ebb.torture.Worker}s make boxes with hostile workloads there and end them in every way,
 * {@link dev.ebb.torture.Chaos} kills inits, wrappers and the daemon, and {@link
 * dev.ebb.torture.Judge} asks the oracle for what is left.
 *
 * <p>The seed determines what is done ({@link dev.ebb.torture.Plan}), but not when. May use the
 * client, the kernel and the oracle, never the runtime, which it tests.
 */
@NullMarked
package dev.ebb.torture;

import org.jspecify.annotations.NullMarked;
