package dev.ebb.mcp;

import dev.ebb.server.rest.McpDoor;

/** How the daemon comes in here. */
public final class Opening implements McpDoor.Opening {
  @Override
  public McpDoor open(McpDoor.House house) {
    return new StreamableDoor(house);
  }
}
