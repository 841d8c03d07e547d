package dev.ebb.server.http;

import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Keys;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.attribute.UserPrincipal;
import java.util.Optional;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.eclipse.jetty.server.Request;

/** Lets a request in to its door, or not. */
public final class Gate {
  private static final String CALLER = Caller.class.getName();

  private final Keys keys;
  private final Set<String> hosts;
  private final UserPrincipal owner;

  /**
   * A gate for what comes over TCP with a key, and over the unix socket from its owner.
   *
   * @param hosts names this server is called by, for what comes over TCP
   * @param owner of the unix socket; root may use it too
   */
  public Gate(Keys keys, Set<String> hosts, UserPrincipal owner) {
    this.keys = keys;
    this.hosts = Set.copyOf(hosts);
    this.owner = owner;
  }

  /** Not let in. */
  static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final boolean forbidden;

    Refusal(boolean forbidden, String message) {
      super(message, null, false, false);
      this.forbidden = forbidden;
    }

    /** False: the request may be let in with a key. */
    boolean isForbidden() {
      return forbidden;
    }
  }

  /** SAFETY: a browser can be made to call us by another site, or by a name that is not ours. */
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

  /** The caller of a request; throws a Refusal if it shows nothing that lets it in. */
  Caller caller(Asked asked, Door door) {
    return asked.isLocal()
        ? unixCaller(asked.request())
        : door.vouched(asked).orElseGet(() -> keyHolder(asked, door.key()));
  }

  /**
   * KERNEL: the credentials are those of the process that connected, and stay; names take files.
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
      throw new Refusal(true, "the unix socket does not tell who calls");
    }
    try {
      UserPrincipal user = channel.getOption(ExtendedSocketOptions.SO_PEERCRED).user();
      if (user.equals(owner) || user.getName().equals("root")) {
        return Caller.OWNER;
      }
      throw new Refusal(true, "user " + user.getName() + " does not own this daemon");
    } catch (IOException e) {
      throw new Refusal(true, "the unix socket does not tell who calls: " + e.getMessage());
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
