package dev.ebb.mcp;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.Limits;
import dev.ebb.model.Network;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.RunService;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.access.Caps;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Finds the box that a tool works in, and makes it if necessary. */
final class Workplace {
  /** The schema of an argument that names a box. */
  static final Map<String, Object> BOX =
      Schema.text("id or name of a box, from create_box or list_boxes; without it, your own box");

  private final Door.House house;

  private final RunService runs;

  Workplace(Door.House house) {
    this.house = house;
    runs = new RunService(house.boxes());
  }

  BoxRegistry boxes() {
    return house.boxes();
  }

  RunService runs() {
    return runs;
  }

  Caps caps() {
    return house.policy().caps();
  }

  static String required(Fields arguments, String name) {
    return arguments
        .text(name)
        .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"" + name + "\" is missing"));
  }

  /** Returns the named box, or the session's own box, which is made when first used. */
  TenantBox box(Call call, Optional<String> word) throws IOException, InterruptedException {
    Session session = call.session();
    return call.about(
        word.isPresent()
            ? boxes().find(session.agent(), word.get())
            : session.own(call, order(session, Wanted.of(Fields.none(), caps()))));
  }

  /** Returns the box in which an earlier call began something. */
  TenantBox known(Call call, Optional<String> word) {
    Session session = call.session();
    return call.about(word.isPresent() ? boxes().find(session.agent(), word.get()) : session.own());
  }

  /** The properties of a box that a client may choose. */
  record Wanted(
      Optional<String> name, Limits limits, Network network, Optional<Duration> timeToLive) {
    /** Reads them from arguments of these names. */
    static Wanted of(Fields arguments, Caps caps) {
      return new Wanted(
          arguments.text("name"),
          OrderFields.limits(arguments, caps),
          OrderFields.allow(arguments.texts("allow")),
          OrderFields.ttl(arguments, caps));
    }
  }

  /** Makes the order of a box within the limits of the tenant. */
  BoxOrder order(Session session, Wanted wanted) {
    BoxSpec spec = BoxSpec.defaults().withLimits(wanted.limits()).withNetwork(wanted.network());
    var order =
        new BoxOrder(
            wanted.name(),
            session.labels(),
            spec,
            wanted.timeToLive(),
            Optional.empty(),
            false,
            false);
    house.policy().check(session.agent(), spec);
    return order;
  }
}
