/** System calls for Ebb: the one module with native access. */
module dev.ebb.kernel {
  requires static org.jspecify;

  exports dev.ebb.kernel;
}
