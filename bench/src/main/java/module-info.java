/** Benchmarks: plain main classes, run by {@code bench/run}. */
module dev.ebb.bench {
  requires static com.google.errorprone.annotations;
  requires static org.jspecify;
  requires dev.ebb.client;
  requires dev.ebb.runtime;
}
