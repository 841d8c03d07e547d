package dev.ebb.server.rest;

import java.time.Duration;

/**
 * What sessions of MCP may have.
 *
 * @param idle how long one may go on without a request or a stream
 * @param sessions most of a tenant at a time
 */
public record McpSettings(Duration idle, int sessions) {
  public static final McpSettings DEFAULT = new McpSettings(Duration.ofMinutes(10), 100);
}
