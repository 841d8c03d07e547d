package dev.ebb.server.http;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntSupplier;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.unixdomain.server.UnixDomainServerConnector;
import org.eclipse.jetty.util.HostPort;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

/** Jetty with its listeners, a unix socket and perhaps a TCP port, and the limits of each. */
@SuppressWarnings("exports") // for the daemon, see module-info
public final class Listeners {
  private static final Logger LOG = System.getLogger(Listeners.class.getName());
  private static final int HEADER_MOST = 16 * 1024;

  /** A test may shorten it. */
  private static final int IDLE_MILLIS = Integer.getInteger("ebb.idle", 60_000);

  private static final int QUEUE = 128;
  private static final int SOCKET_PATH_MOST = 107;
  private static final int TEXT_MOST = 4 * 1024;

  /** The longest message of a WebSocket. */
  public static final int BINARY_MOST = 256 * 1024;

  private final Addresses addresses;
  private final Server server;

  /**
   * Where a daemon listens.
   *
   * @param listen the TCP address, if it has one
   * @param hosts names by which clients may address it over TCP, beside those of the loopback
   * @param connections most at a time, within the limit of descriptors
   */
  public record Addresses(
      Path socket,
      Optional<InetSocketAddress> listen,
      Optional<Tls.PemFiles> tls,
      Set<String> hosts,
      int connections) {
    public Addresses {
      hosts = Set.copyOf(hosts);
    }

    /** Returns all names that a request over TCP may use for this server, in lower case. */
    public Set<String> allHosts() {
      var all = new HashSet<>(Set.of("localhost", "127.0.0.1", "[::1]", "::1"));
      hosts.forEach(host -> all.add(host.toLowerCase(Locale.ROOT)));
      listen.ifPresent(address -> all.add(address.getHostString().toLowerCase(Locale.ROOT)));
      return all;
    }
  }

  private Listeners(Addresses addresses, Server server) {
    this.addresses = addresses;
    this.server = server;
  }

  /**
   * Prepares all listeners; none accepts before {@link #start}.
   *
   * @param descriptors how many descriptors this process may have
   */
  public static Listeners of(Addresses addresses, long descriptors) throws IOException {
    var server = new Server(new RequestThreads());
    server.addConnector(unixConnector(server, addresses.socket()));
    if (addresses.listen().isPresent()) {
      server.addConnector(tcpConnector(server, addresses, addresses.listen().get()));
    }
    int most = ConnectionLimit.most(addresses.connections(), descriptors);
    for (var connector : server.getConnectors()) {
      IntSupplier count = () -> connector.getConnectedEndPoints().size();
      connector.addBean(
          connector instanceof UnixDomainServerConnector
              ? new ConnectionLimit(count, most)
              : new Guests(most, connector.getScheduler()));
    }
    return new Listeners(addresses, server);
  }

  /** Accepts connections from now on; {@code handler} answers every request. */
  public void start(Handler handler) throws Exception {
    var sockets = ServerWebSocketContainer.ensure(server);
    sockets.setIdleTimeout(Duration.ZERO);
    sockets.setMaxTextMessageSize(TEXT_MOST);
    sockets.setMaxBinaryMessageSize(BINARY_MOST);
    server.getContext().setAttribute(ServerWebSocketContainer.class.getName(), sockets);
    server.setHandler(handler);
    server.start();
    Files.setPosixFilePermissions(addresses.socket(), PosixFilePermissions.fromString("rw-------"));
  }

  /** Returns how many connections are open. */
  public int connections() {
    int count = 0;
    for (var connector : server.getConnectors()) {
      count += connector.getConnectedEndPoints().size();
    }
    return count;
  }

  /** Returns the TCP port, or 0 if the daemon does not listen on TCP. */
  public int port() {
    for (var connector : server.getConnectors()) {
      if (connector instanceof ServerConnector tcp) {
        return tcp.getLocalPort();
      }
    }
    return 0;
  }

  /** Closes all listeners and connections. */
  public void stop() {
    try {
      server.stop();
    } catch (Exception e) {
      LOG.log(Level.WARNING, "event=server_stop_failed", e);
    }
  }

  private static HttpConnectionFactory http() {
    var configuration = new HttpConfiguration();
    configuration.setSendServerVersion(false);
    configuration.setSendDateHeader(false);
    configuration.setRequestHeaderSize(HEADER_MOST);
    // A caller over the unix socket may send any Host, or none.
    configuration.setServerAuthority(new HostPort("localhost"));
    return new HttpConnectionFactory(configuration);
  }

  /**
   * The daemon is the only one in its home, so an existing socket file belongs to a dead daemon.
   */
  private static UnixDomainServerConnector unixConnector(Server server, Path socket)
      throws IOException {
    if (socket.toString().getBytes(StandardCharsets.UTF_8).length > SOCKET_PATH_MOST) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST,
          "the path of the socket is longer than " + SOCKET_PATH_MOST + " bytes: " + socket);
    }
    Files.deleteIfExists(socket);
    var connector = new Connectors.Unix(server, http());
    connector.setUnixDomainPath(socket);
    connector.setAcceptQueueSize(QUEUE);
    connector.setIdleTimeout(IDLE_MILLIS);
    connector.addBean(new HeaderTimeout(connector.getScheduler()));
    connector.addBean(new AcceptBound());
    return connector;
  }

  private static ServerConnector tcpConnector(
      Server server, Addresses addresses, InetSocketAddress address) {
    var http = http();
    http.getHttpConfiguration().setServerAuthority(null);
    var connector = new Connectors.Tcp(server, factories(addresses, http));
    connector.setHost(address.getHostString());
    connector.setPort(address.getPort());
    connector.setAcceptQueueSize(QUEUE);
    connector.setIdleTimeout(IDLE_MILLIS);
    connector.addBean(new HeaderTimeout(connector.getScheduler()));
    connector.addBean(new AcceptBound());
    return connector;
  }

  private static ConnectionFactory[] factories(Addresses addresses, HttpConnectionFactory http) {
    return addresses
        .tls()
        .map(files -> new SslConnectionFactory(Tls.context(files), http.getProtocol()))
        .map(tls -> new ConnectionFactory[] {tls, http})
        .orElseGet(() -> new ConnectionFactory[] {http});
  }
}
