package dev.ebb.model;

/** Where a request wants to go. */
public record Destination(HostName name, int port) {
  @Override
  public String toString() {
    return name + ":" + port;
  }
}
