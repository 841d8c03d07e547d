package dev.ebb.model;

/** The host and port that a request asks for. */
public record Destination(HostName name, int port) {
  @Override
  public String toString() {
    return name + ":" + port;
  }
}
