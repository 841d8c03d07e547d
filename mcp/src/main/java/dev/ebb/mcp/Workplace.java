package dev.ebb.mcp;

import dev.ebb.server.access.Caps;
import dev.ebb.server.boxes.BoxOrder;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.rest.Fields;
import dev.ebb.server.rest.McpDoor;
import dev.ebb.server.rest.Orders;
import dev.ebb.server.rest.Problem;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where tools work: which box is meant, and what it may have. */
final class Workplace {
  /** For the schemas. */
  static final Map<String, Object> BOX =
      Schema.text("id or name of a box, from create_box or list_boxes; without it, your own box");

  private final McpDoor.House house;

  Workplace(McpDoor.House house) {
    this.house = house;
  }

  Boxes boxes() {
    return house.boxes();
  }

  Caps caps() {
    return house.policy().caps();
  }

  static String required(Fields arguments, String name) {
    return arguments
        .text(name)
        .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"" + name + "\" is missing"));
  }

  /** The box to work in; the session's own is made if it has none. */
  ServedBox box(Call call, Optional<String> word) throws IOException, InterruptedException {
    Session session = call.session();
    return call.about(
        word.isPresent()
            ? boxes().find(session.agent(), word.get())
            : session.own(call, order(session, Map.of())));
  }

  /** The box in which something was begun before. */
  ServedBox known(Call call, Optional<String> word) {
    Session session = call.session();
    return call.about(word.isPresent() ? boxes().find(session.agent(), word.get()) : session.own());
  }

  /** A box as a tenant may have it. */
  BoxOrder order(Session session, Map<String, @Nullable Object> wanted) {
    var fields = new LinkedHashMap<String, @Nullable Object>(wanted);
    fields.put("labels", session.labels());
    BoxOrder order = Orders.box(Fields.of(fields), caps()).order();
    house.policy().check(session.agent(), order.spec());
    return order;
  }
}
