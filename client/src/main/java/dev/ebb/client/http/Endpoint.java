package dev.ebb.client.http;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Where a server listens.
 *
 * @param socket its unix socket; null over TCP
 * @param authority the value of the Host header
 * @param trust which certificates to accept over TLS; null for plain HTTP
 */
public record Endpoint(
    @Nullable Path socket, String host, int port, String authority, @Nullable SSLContext trust) {
  private static final int HTTP_PORT = 80;
  private static final int HTTPS_PORT = 443;

  public static Endpoint unix(Path socket) {
    return new Endpoint(socket, "", 0, "localhost", null);
  }

  /** Parses {@code http://host:port}, or {@code https://host:port} with the JDK's authorities. */
  public static Endpoint tcp(URI uri) throws IOException {
    return isTls(uri) ? tls(uri, Authorities.ofTheJdk()) : tcp(uri, "http", HTTP_PORT, null);
  }

  /** Parses {@code https://host:port}. */
  public static Endpoint tls(URI uri, SSLContext trust) {
    return tcp(uri, "https", HTTPS_PORT, trust);
  }

  private static boolean isTls(URI uri) {
    return "https".equalsIgnoreCase(uri.getScheme());
  }

  private static Endpoint tcp(URI uri, String wanted, int defaultPort, @Nullable SSLContext trust) {
    String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
    String host = uri.getHost();
    String path = uri.getPath();
    if (!scheme.equals(wanted)
        || host == null
        || uri.getUserInfo() != null
        || uri.getQuery() != null
        || !(path.isEmpty() || path.equals("/"))) {
      throw new IllegalArgumentException("bad address " + uri + ": write " + forms(trust));
    }
    int port = uri.getPort() < 0 ? defaultPort : uri.getPort();
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new Endpoint(null, bare, port, host + ":" + port, trust);
  }

  private static String forms(@Nullable SSLContext trust) {
    return trust == null ? "http://host:port or https://host:port" : "https://host:port";
  }

  /** Connects, with a handshake over TLS. */
  Wire open(Watchdog watchdog, Deadline deadline) throws IOException {
    SocketChannel channel = connect(watchdog, deadline);
    if (trust == null) {
      return Wire.plain(channel);
    }
    Watchdog.Watch watch = watchdog.watch(channel, deadline);
    try {
      Wire wire = TlsWire.open(channel, trust, host, port);
      if (watch.isInTime()) {
        return wire;
      }
    } catch (SSLException e) {
      channel.close();
      if (watch.isInTime()) {
        throw new SSLException("cannot trust " + this + ": " + e.getMessage(), e);
      }
    } catch (IOException e) {
      channel.close();
      if (watch.isInTime()) {
        throw new SSLException(this + " does not speak TLS: " + e.getMessage(), e);
      }
    }
    throw failed("no TLS in " + deadline.patience().toMillis() + " ms", null);
  }

  /** Connects to the first of the server's addresses that answers. */
  private SocketChannel connect(Watchdog watchdog, Deadline deadline) throws IOException {
    IOException first = null;
    for (SocketAddress address : addresses()) {
      try {
        return connect(address, watchdog, deadline);
      } catch (IOException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    throw failed(first == null ? "it has no address" : String.valueOf(first.getMessage()), first);
  }

  private ConnectException failed(String reason, @Nullable IOException cause) {
    var failure = new ConnectException("cannot connect to " + this + ": " + reason);
    failure.initCause(cause);
    return failure;
  }

  private List<SocketAddress> addresses() throws IOException {
    if (socket != null) {
      return List.of(UnixDomainSocketAddress.of(socket));
    }
    var addresses = new ArrayList<SocketAddress>();
    try {
      for (InetAddress each : InetAddress.getAllByName(host)) {
        addresses.add(new InetSocketAddress(each, port));
      }
    } catch (UnknownHostException e) {
      throw failed("no such host", e);
    }
    return addresses;
  }

  private static SocketChannel connect(SocketAddress address, Watchdog watchdog, Deadline deadline)
      throws IOException {
    boolean unix = address instanceof UnixDomainSocketAddress;
    SocketChannel channel =
        unix ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
    Watchdog.Watch watch = watchdog.watch(channel, deadline);
    try {
      channel.connect(address);
      if (!unix) {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        // A stream is awaited without a time limit: keep-alive notices a peer that vanished.
        channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
      }
    } catch (IOException e) {
      channel.close();
      if (watch.isInTime()) {
        throw e;
      }
      throw new ConnectException("no answer in " + deadline.patience().toMillis() + " ms");
    }
    if (!watch.isInTime()) {
      throw new ConnectException("no answer in " + deadline.patience().toMillis() + " ms");
    }
    return channel;
  }

  @Override
  public String toString() {
    return socket != null
        ? socket.toString()
        : (trust == null ? "http://" : "https://") + authority;
  }
}
