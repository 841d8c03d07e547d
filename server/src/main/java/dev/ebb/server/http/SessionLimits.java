package dev.ebb.server.http;

import java.time.Duration;

/**
 * What the sessions of a door may have.
 *
 * @param idle how long one may go on without a request or a stream
 * @param most of a tenant at a time
 */
public record SessionLimits(Duration idle, int most) {
  public static final SessionLimits DEFAULT = new SessionLimits(Duration.ofMinutes(10), 100);
}
