package dev.ebb.server.http;

import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Keys;
import dev.ebb.server.service.access.Role;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.eclipse.jetty.server.Request;

/** Authenticates the caller of a request, or refuses the request. */
public final class Gate {
  private static final String CALLER = Caller.class.getName();

  private final Keys keys;
  private final Set<String> hosts;
  private final UserPrincipal owner;

  /**
   * Makes a gate for requests over TCP, which need a key, and over the unix socket, which need its
   * owner.
   *
   * @param hosts the names of this server over TCP
   * @param owner of the unix socket; root may use it too
   */
  public Gate(Keys keys, Set<String> hosts, UserPrincipal owner) {
    this.keys = keys;
    this.hosts = Set.copyOf(hosts);
    this.owner = owner;
  }

  /** A request that was not let in. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final boolean forbidden;

    Refusal(boolean forbidden, String message) {
      super(message, null, false, false);
      this.forbidden = forbidden;
    }

    /** Returns false if the request could be let in with a key. */
    boolean isForbidden() {
      return forbidden;
    }
  }

  /** SAFETY: another site, or a name that is not ours, can make a browser call us. */
  void checkOrigin(Asked asked, DoorTable.Found found) {
    Door door = found.door().door();
    Optional<String> origin = asked.origin();
    if (origin.isPresent() && !door.acceptsOrigin(origin.get(), asked)) {
      throw new Refusal(true, "requests of web pages are not served");
    }
    if (!asked.isLocal() && !found.byHost()) {
      String host = asked.host();
      if (!hosts.contains(host) && !door.acceptsHost(asked)) {
        throw new Refusal(true, "unknown host \"" + host + "\"; add it to hosts");
      }
    }
  }

  /** Returns the caller of a request; throws a Refusal if the request does not authenticate one. */
  Caller caller(Asked asked, Door door) {
    return asked.isLocal()
        ? unixCaller(asked.request())
        : door.vouched(asked).orElseGet(() -> keyHolder(asked, door.key()));
  }

  /** Refuses a caller whose role lacks the right that a route needs; all doors pass here. */
  static void requireRight(Caller caller, Route route) {
    if (!route.isOpen() && !caller.role().has(route.right())) {
      throw new Refusal(
          true,
          "this key has the role %s; needed: %s"
              .formatted(
                  caller.role().wireName(), String.join(" or ", Role.namesWith(route.right()))));
    }
  }

  /**
   * KERNEL: the credentials are those of the process that connected, and do not change. Looking up
   * names opens files.
   */
  private Caller unixCaller(Request request) {
    var connection = request.getConnectionMetaData();
    if (connection.getAttribute(CALLER) instanceof Caller known) {
      return known;
    }
    Caller caller = peer(request);
    connection.setAttribute(CALLER, caller);
    return caller;
  }

  private Caller peer(Request request) {
    var endPoint = request.getConnectionMetaData().getConnection().getEndPoint();
    if (!(endPoint.getTransport() instanceof SocketChannel channel)) {
      throw new Refusal(true, "the unix socket does not identify its caller");
    }
    try {
      UserPrincipal user = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
      if (user.equals(owner) || user.getName().equals("root")) {
        return Caller.OWNER;
      }
      throw new Refusal(true, "user " + user.getName() + " does not own this daemon");
    } catch (IOException e) {
      throw new Refusal(true, "the unix socket does not identify its caller: " + e.getMessage());
    }
  }

  private Caller keyHolder(Asked asked, KeyPlace place) {
    Optional<String> key = place.find(asked);
    if (key.isEmpty() && asked.header("Authorization").isEmpty()) {
      throw new Refusal(false, "no key was sent");
    }
    return key.flatMap(keys::holder).orElseThrow(() -> new Refusal(false, "this key is not known"));
  }
}
