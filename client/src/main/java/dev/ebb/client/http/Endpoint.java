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
import org.jspecify.annotations.Nullable;

/**
 * Where a server listens.
 *
 * @param socket its unix socket; null over TCP
 * @param authority what the Host header says
 */
public record Endpoint(@Nullable Path socket, String host, int port, String authority) {
  private static final int HTTP_PORT = 80;

  public static Endpoint unix(Path socket) {
    return new Endpoint(socket, "", 0, "localhost");
  }

  /** From {@code http://host:port}. */
  public static Endpoint tcp(URI uri) {
    String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
    String host = uri.getHost();
    String path = uri.getPath();
    if (!scheme.equals("http")
        || host == null
        || uri.getUserInfo() != null
        || uri.getQuery() != null
        || !(path.isEmpty() || path.equals("/"))) {
      throw new IllegalArgumentException("bad address " + uri + ": write http://host:port");
    }
    int port = uri.getPort() < 0 ? HTTP_PORT : uri.getPort();
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return new Endpoint(null, bare, port, host + ":" + port);
  }

  /** Connects to the first of its addresses that answers. */
  SocketChannel connect(Watchdog watchdog, Deadline deadline) throws IOException {
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
        // Streams are waited for without end: a peer that vanished must be noticed some day.
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
    return socket != null ? socket.toString() : "http://" + authority;
  }
}
