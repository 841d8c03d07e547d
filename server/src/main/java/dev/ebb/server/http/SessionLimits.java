package dev.ebb.server.http;

import java.time.Duration;

/**
 * The limits of a door's sessions.
 *
 * @param idle how long a session may last without a request or a stream
 * @param most how many a tenant may have at a time
 */
public record SessionLimits(Duration idle, int most) {
  public static final SessionLimits DEFAULT = new SessionLimits(Duration.ofMinutes(10), 100);
}
