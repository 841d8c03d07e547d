/** Benchmarks: plain main classes. */
@NullMarked
package dev.ebb.bench;

import org.jspecify.annotations.NullMarked;
