package dev.ebb.server.access;

import java.io.IOException;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.attribute.UserPrincipal;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import jdk.net.ExtendedSocketOptions;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.server.Request;

/** Lets a request in, or not. */
public final class Gate {
  private static final String BEARER = "bearer ";
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
  public static final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final boolean forbidden;

    Refusal(boolean forbidden, String message) {
      super(message, null, false, false);
      this.forbidden = forbidden;
    }

    /** False: who would say who they are may be let in. */
    public boolean isForbidden() {
      return forbidden;
    }
  }

  /** SAFETY: a browser can be made to call us by another site, or by a name that is not ours. */
  public void checkOrigin(Request request) {
    if (request.getHeaders().get(HttpHeader.ORIGIN) != null) {
      throw new Refusal(true, "requests of web pages are not served");
    }
    if (!isUnix(request)) {
      String host = String.valueOf(Request.getServerName(request)).toLowerCase(Locale.ROOT);
      if (!hosts.contains(host)) {
        throw new Refusal(true, "this is not \"" + host + "\"");
      }
    }
  }

  public Caller caller(Request request) {
    return isUnix(request) ? unixCaller(request) : keyHolder(request);
  }

  private static boolean isUnix(Request request) {
    SocketAddress local = request.getConnectionMetaData().getLocalSocketAddress();
    return local instanceof UnixDomainSocketAddress;
  }

  /** KERNEL: the credentials are those of whoever connected, and stay; to name them takes files. */
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

  private Caller keyHolder(Request request) {
    String header = request.getHeaders().get(HttpHeader.AUTHORIZATION);
    if (header == null) {
      throw new Refusal(false, "no key was sent");
    }
    Optional<Caller> caller =
        header.toLowerCase(Locale.ROOT).startsWith(BEARER)
            ? keys.holder(header.substring(BEARER.length()).strip())
            : Optional.empty();
    return caller.orElseThrow(() -> new Refusal(false, "this key is not known"));
  }
}
