/**
 * {@code ebb soak}: {@link dev.ebb.torture.soak.Soak} runs thousands of {@link
 * dev.ebb.torture.soak.Errand}s on a daemon of its own, measures it whenever it is idle ({@link
 * dev.ebb.torture.soak.Measurement}), and reports what grows ({@link dev.ebb.torture.soak.Trend}).
 */
@NullMarked
package dev.ebb.torture.soak;

import org.jspecify.annotations.NullMarked;
