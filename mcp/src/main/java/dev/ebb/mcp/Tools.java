package dev.ebb.mcp;

import static java.util.Objects.requireNonNull;

import dev.ebb.model.SandboxException;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Registers all tools with the SDK, and turns failures into results that a model can act on. */
final class Tools {
  private static final Logger LOG = System.getLogger(Tools.class.getName());

  private final List<Tool> all = new ArrayList<>();

  Tools(Door.House house) {
    var workplace = new Workplace(house);
    all.add(new CodeTool(workplace).tool());
    all.addAll(new CommandTools(workplace).all());
    all.addAll(new FileTools(workplace).all());
    all.addAll(new BoxTools(workplace).all());
  }

  List<Tool> all() {
    return List.copyOf(all);
  }

  List<SyncToolSpecification> specifications() {
    return all.stream()
        .map(
            tool ->
                new SyncToolSpecification(
                    tool.described(), (client, request) -> call(tool, client, request)))
        .toList();
  }

  private static CallToolResult call(
      Tool tool, McpSyncServerExchange client, CallToolRequest request) {
    Call call = (Call) requireNonNull(client.transportContext().get(Call.KEY));
    Object token = request.meta() == null ? null : request.meta().get("progressToken");
    if (token != null) {
      call.report(client, token);
    }
    return work(tool, call, request);
  }

  private static CallToolResult work(Tool tool, Call call, CallToolRequest request) {
    try {
      call.requireWanted();
      return tool.work().call(call, Fields.of(plain(request.arguments()))).result();
    } catch (Problem e) {
      return failure(tool, e);
    } catch (SandboxException e) {
      return failure(tool, call.meanwhile(e));
    } catch (IOException e) {
      return broken(tool, call, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return failure(tool, new Problem(Problem.Code.DRAINING, "interrupted"));
    } catch (Call.Cancelled e) {
      throw e;
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "event=tool_failed tool=" + tool.name(), e);
      return failure(tool, new Problem(Problem.Code.INTERNAL, SandboxException.describe(e)));
    }
  }

  /** Returns the result for a broken connection, or for an I/O error within the box. */
  private static CallToolResult broken(Tool tool, Call call, IOException e) {
    try {
      call.answer().requireSent();
    } catch (IOException gone) {
      throw new Call.Gone(gone);
    }
    return failure(tool, new Problem(Problem.Code.SETUP_FAILED, String.valueOf(e.getMessage())));
  }

  /** Describes the problem, where it occurred, and what to do about it. */
  private static CallToolResult failure(Tool tool, Problem problem) {
    String text =
        "%s failed (%s): %s. %s"
            .formatted(
                tool.name(),
                problem.code().wireName(),
                problem.getMessage(),
                advice(problem.code()));
    return CallToolResult.builder().addTextContent(text).isError(true).build();
  }

  private static String advice(Problem.Code code) {
    return switch (code) {
      case BAD_REQUEST -> "Correct the arguments as the tool's schema has them, and call it again.";
      case NOT_FOUND ->
          "list_files shows files, list_boxes boxes; without \"box\" your own is used.";
      case CONFLICT -> "Choose another name, or use what is there.";
      case WRONG_STATE -> "Look at its state first: list_boxes, process_output.";
      case TOO_LARGE -> "Make it smaller, or work on it in pieces.";
      case QUOTA -> "End processes and boxes that are no longer needed, then try again.";
      case PRESSURE, DRAINING, SETUP_FAILED -> "Try again in a few seconds.";
      case TIMED_OUT -> "Try again, or ask for less at a time.";
      case FORBIDDEN -> "This server does not allow it; ask for less.";
      case UNSUPPORTED, UNFIT -> "This host cannot do it; choose another way.";
      case UNAUTHORIZED, METHOD_NOT_ALLOWED, NOT_ACCEPTABLE, INTERNAL ->
          "This is not your fault; tell the user, who may look into the daemon's log.";
    };
  }

  /** Converts numbers to the types that REST has. */
  private static Map<String, @Nullable Object> plain(@Nullable Map<String, Object> arguments) {
    var plain = new LinkedHashMap<String, @Nullable Object>();
    if (arguments != null) {
      arguments.forEach((name, value) -> plain.put(name, plain(value)));
    }
    return plain;
  }

  @SuppressWarnings("unchecked") // JSON has no other keys
  private static @Nullable Object plain(@Nullable Object value) {
    return switch (value) {
      case Integer number -> number.longValue();
      case Map<?, ?> map -> plain((Map<String, Object>) map);
      case List<?> list -> list.stream().map(each -> plain(each)).toList();
      case null, default -> value;
    };
  }
}
