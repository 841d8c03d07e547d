/** Benchmarks against peers, interleaved in one run; figures are for docs, never for tests. */
@NullMarked
package dev.ebb.bench;

import org.jspecify.annotations.NullMarked;
