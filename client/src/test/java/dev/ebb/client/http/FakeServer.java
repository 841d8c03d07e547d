package dev.ebb.client.http;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/** A server on a real socket that runs a script for each connection. */
public final class FakeServer implements AutoCloseable {
  private static final Pattern LENGTH = Pattern.compile("(?i)content-length: (\\d+)");

  private final ServerSocketChannel listener;
  private final Endpoint endpoint;
  private final List<Script> scripts;
  private final AtomicInteger connections = new AtomicInteger();
  private final List<Throwable> failures = new CopyOnWriteArrayList<>();
  private final Map<Thread, SocketChannel> threads = new ConcurrentHashMap<>();

  /** The script for one connection; it is closed afterwards. */
  public interface Script {
    void serve(Peer peer) throws IOException;
  }

  private FakeServer(ServerSocketChannel listener, Endpoint endpoint, Script... scripts) {
    this.listener = listener;
    this.endpoint = endpoint;
    this.scripts = List.of(scripts);
    Thread.ofPlatform().name("fake-server").daemon().start(this::accept);
  }

  /** The first script is for the first connection, and so on; the last for all later ones. */
  public static FakeServer tcp(Script... scripts) throws IOException {
    var listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
    var endpoint = Endpoint.tcp(URI.create("http://127.0.0.1:" + port));
    return new FakeServer(listener, endpoint, scripts);
  }

  public static FakeServer unix(Path socket, Script... scripts) throws IOException {
    var listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(socket));
    return new FakeServer(listener, Endpoint.unix(socket), scripts);
  }

  public Endpoint endpoint() {
    return endpoint;
  }

  public URI uri() {
    return URI.create(endpoint.toString());
  }

  public int connections() {
    return connections.get();
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel channel = listener.accept();
        int number = connections.getAndIncrement();
        Script script = scripts.get(Math.min(number, scripts.size() - 1));
        Thread thread = Thread.ofPlatform().daemon().unstarted(() -> serve(channel, script));
        threads.put(thread, channel);
        thread.start();
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private void serve(SocketChannel channel, Script script) {
    try (channel) {
      script.serve(new Peer(channel));
    } catch (IOException e) {
      // The client went away, as clients do.
    } catch (Throwable e) {
      failures.add(e);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (var each : threads.entrySet()) {
      each.getValue().close();
      try {
        each.getKey().join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    for (Throwable failure : failures) {
      throw new AssertionError("in a script of the server", failure);
    }
  }

  /** The server's end of one connection. */
  public static final class Peer {
    private final InputStream in;
    private final OutputStream out;

    private Peer(SocketChannel channel) {
      in = new BufferedInputStream(Channels.newInputStream(channel));
      out = Channels.newOutputStream(channel);
    }

    public InputStream in() {
      return in;
    }

    /** The head of a request. */
    public String head() throws IOException {
      var head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        int b = in.read();
        if (b < 0) {
          throw new EOFException();
        }
        head.append((char) b);
      }
      return head.toString();
    }

    /** Reads a request of known length, head and body. */
    public String request() throws IOException {
      String head = head();
      var length = LENGTH.matcher(head);
      byte[] body = in.readNBytes(length.find() ? Integer.parseInt(length.group(1)) : 0);
      return head + new String(body, StandardCharsets.UTF_8);
    }

    public void send(String text) throws IOException {
      send(text.getBytes(StandardCharsets.UTF_8));
    }

    public void send(byte[] bytes) throws IOException {
      out.write(bytes);
      out.flush();
    }

    /** A whole answer. */
    public void answer(int status, String body) throws IOException {
      int length = body.getBytes(StandardCharsets.UTF_8).length;
      send("HTTP/1.1 " + status + " Word\r\nContent-Length: " + length + "\r\n\r\n" + body);
    }

    /** Waits for the client to hang up. */
    public void awaitEnd() throws IOException {
      in.transferTo(OutputStream.nullOutputStream());
    }
  }
}
