package dev.ebb.egress;

/** Where a request wants to go. */
record Destination(HostName name, int port) {
  @Override
  public String toString() {
    return name + ":" + port;
  }
}
