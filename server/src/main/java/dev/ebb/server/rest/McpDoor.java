package dev.ebb.server.rest;

import dev.ebb.server.access.Caller;
import dev.ebb.server.access.Policy;
import dev.ebb.server.boxes.Boxes;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * The Model Context Protocol. It lies in jars of its own, which are loaded when somebody speaks it:
 * see {@link McpLayer}. Thread-safe.
 */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public interface McpDoor {
  /** Takes one message of a client; whoever wants an answer gets it. */
  void post(Exchange exchange) throws IOException, InterruptedException;

  /** Tells what the server has to say by itself, for as long as the client listens. */
  void listen(Exchange exchange) throws IOException, InterruptedException;

  /** Ends the session, with all it made. */
  void end(Exchange exchange) throws IOException, InterruptedException;

  /** The sessions that a caller may know of, the oldest first. */
  List<Map<String, Object>> sessions(Caller caller);

  /** How many sessions there are. */
  int open();

  /** How many there were. */
  long begun();

  /** What it opens into. */
  record House(Boxes boxes, Policy policy, McpSettings settings, String version) {}

  /** How the jars are entered. */
  interface Opening {
    McpDoor open(House house);
  }
}
