/**
 * {@code ebb torture}: {@link dev.ebb.torture.Torture} starts a daemon of its own, {@link
 * dev.ebb.torture.Worker}s make boxes with hostile workloads there and end them in every way,
 * {@link dev.ebb.torture.Chaos} kills inits, wrappers and the daemon, and {@link
 * dev.ebb.torture.Judge} asks the oracle what is left.
 *
 * <p>What is done follows from the seed ({@link dev.ebb.torture.Plan}); when it happens does not.
 * May use the client, the kernel and the oracle, never the runtime: it is what is judged.
 */
@NullMarked
package dev.ebb.torture;

import org.jspecify.annotations.NullMarked;
