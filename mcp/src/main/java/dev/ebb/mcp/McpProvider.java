package dev.ebb.mcp;

import dev.ebb.server.http.Door;

/** Makes the door for agents; the daemon finds it by ServiceLoader. */
public final class McpProvider implements Door.Provider {
  @Override
  public Door open(Door.House house) {
    return McpDoor.of(house);
  }
}
