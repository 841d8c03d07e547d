/** A strict JSON reader and writer; needs nothing but the JDK. */
module dev.ebb.json {
  requires static org.jspecify;

  exports dev.ebb.json;
}
