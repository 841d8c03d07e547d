package dev.ebb.server.doors;

import dev.ebb.server.http.DescribedRoute;
import dev.ebb.server.http.KeyPlace;
import dev.ebb.server.http.ModuleDoor;
import dev.ebb.server.http.Mount;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.service.access.Right;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The routes of the MCP door, which are needed before it is loaded; a test of that door checks
 * them.
 */
@SuppressWarnings("exports") // for the daemon, and the test of the door
public final class McpSign {
  private McpSign() {}

  private static final Parameter<Optional<String>> SESSION = Parameter.header("Mcp-Session-Id");

  private static final Parameter<Optional<String>> KNOWN =
      SESSION.described("the session id in the answer to initialize").required();

  private static final Operation SEND =
      Operation.of(
              "sendMcpMessage",
              "One message of the Model Context Protocol, as streamable HTTP has it: docs/mcp.md")
          .with(
              SESSION.described("of every message but the first, initialize, whose answer has it"))
          .takesObject()
          .answersObject(
              200,
              "the answer, as JSON or, when it is late or there is progress to report, as events")
          .answersEvents()
          .answers(202, "the notification was accepted");

  private static final Operation LISTEN =
      Operation.of("listenToMcp", "Streams the server's own messages to a session")
          .with(
              KNOWN,
              Parameter.header("Ebb-Lifeline")
                  .described("any value: the session ends with this stream"))
          .answersEvents()
          .needs(Right.USE);

  private static final Operation END =
      Operation.of("endMcpSession", "Ends a session and removes every box that it made")
          .with(KNOWN)
          .answers(204, "it has ended");

  public static final ModuleDoor.Sign SIGN =
      new ModuleDoor.Sign(
          "mcp",
          "dev.ebb.mcp",
          Set.of(Mount.at("/mcp")),
          KeyPlace.BEARER,
          List.of(
              new DescribedRoute("POST", "/mcp", false, false, SEND),
              new DescribedRoute("GET", "/mcp", false, false, LISTEN),
              new DescribedRoute("DELETE", "/mcp", true, false, END)));
}
