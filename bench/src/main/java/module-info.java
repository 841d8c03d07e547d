/** Benchmarks: plain main classes. */
module dev.ebb.bench {
  requires static org.jspecify;
  requires dev.ebb.runtime;
}
