package dev.ebb.server.front;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.engine.Handover;
import dev.ebb.kernel.Deadline;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.time.Duration;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import jdk.net.ExtendedSocketOptions;

/**
 * The socket at which fronts of the daemon's own user hand their commands over. Each is served on
 * virtual threads; the classes of commands are loaded for the first.
 */
public final class FrontSocket implements AutoCloseable {
  private static final Logger LOG = System.getLogger(FrontSocket.class.getName());

  /** After the name of the daemon's own socket, as {@code init/front/front.h} has it. */
  private static final String SUFFIX = ".cli";

  private static final int PATH_MOST = 107;
  private static final int QUEUE = 64;

  /** Most at a time, where descriptors allow it: a front beyond has a process of its own. */
  private static final int MOST = 256;

  /** Descriptors for one front: its connection, and both ends of those to this daemon. */
  private static final int SHARE_OF_DESCRIPTORS = 32;

  /** How long commands may take to tell their fronts that their boxes have ended. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(1);

  private static final Duration RETRY = Duration.ofMillis(200);

  private final Path path;
  private final String build;
  private final ServerSocketChannel channel;
  private final UserPrincipal owner;
  private final int most;
  private final Semaphore permits;
  private final BaselineWatch baseline;
  private final AtomicLong begun = new AtomicLong();
  private final Set<SocketChannel> fronts = ConcurrentHashMap.newKeySet();

  private FrontSocket(
      Path path, String build, ServerSocketChannel channel, int most, BaselineWatch baseline)
      throws IOException {
    this.path = path;
    this.build = build;
    this.channel = channel;
    this.most = most;
    this.baseline = baseline;
    permits = new Semaphore(most);
    owner = Files.getOwner(path);
  }

  /**
   * Listens beside the daemon's own socket. Empty outside of a dist, which has no fronts, and where
   * the path would be too long for a socket.
   *
   * @param connections most of them at a time, within the limit of descriptors
   */
  public static Optional<FrontSocket> open(
      Path socket, int connections, long descriptors, BaselineWatch baseline) throws IOException {
    Path path = socket.resolveSibling(socket.getFileName() + SUFFIX);
    Optional<String> build = DistBuild.read();
    boolean fits = path.toString().getBytes(StandardCharsets.UTF_8).length <= PATH_MOST;
    if (build.isEmpty() || !fits) {
      LOG.log(Level.DEBUG, "event=no_fronts socket={0}", path);
      return Optional.empty();
    }
    long most = Math.clamp(descriptors / SHARE_OF_DESCRIPTORS, 1, MOST);
    // The daemon is the only one in its home, so an existing file belongs to a dead daemon.
    Files.deleteIfExists(path);
    var channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      channel.bind(UnixDomainSocketAddress.of(path), QUEUE);
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
      int bound = (int) Math.min(most, connections);
      var opened = new FrontSocket(path, build.get(), channel, bound, baseline);
      Thread.ofVirtual().name("ebb-front-accept").start(opened::accept);
      return Optional.of(opened);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  /** Returns how many fronts are connected. */
  public int connections() {
    return fronts.size();
  }

  /** Returns how many commands were handed over so far. */
  public long begun() {
    return begun.get();
  }

  // --- fronts ---

  private void accept() {
    while (channel.isOpen()) {
      try {
        take(channel.accept());
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        LOG.log(Level.WARNING, "event=front_not_accepted", e);
        awaitDescriptors();
      }
    }
  }

  /** A connection that cannot be accepted stays in the backlog, and would fail again at once. */
  private static void awaitDescriptors() {
    Deadline.in(RETRY).pause(RETRY);
  }

  private void take(SocketChannel front) throws IOException {
    if (!permits.tryAcquire()) {
      front.close();
      return;
    }
    fronts.add(front);
    Thread.ofVirtual().name("ebb-front").start(() -> serve(front));
  }

  private void serve(SocketChannel front) {
    baseline.requestBegins();
    try (front) {
      if (isOwn(front)) {
        begun.incrementAndGet();
        commands().serve(front, build);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "event=front_broken", e);
    } finally {
      baseline.requestEnds();
      fronts.remove(front);
      permits.release();
    }
  }

  /** KERNEL: the credentials are those of the process that connected. Root may not act for us. */
  private boolean isOwn(SocketChannel front) throws IOException {
    return front.getOption(ExtendedSocketOptions.SO_PEERCRED).user().equals(owner);
  }

  /** Not looked for before the first front, so that an idle daemon has no classes of commands. */
  private static Handover commands() {
    return Holder.COMMANDS;
  }

  private static final class Holder {
    private static final Handover COMMANDS =
        ServiceLoader.load(FrontSocket.class.getModule().getLayer(), Handover.class)
            .findFirst()
            .orElseThrow();
  }

  // --- the end ---

  /** Closes it; commands that still run lose their fronts. */
  @Override
  public void close() {
    try {
      channel.close();
      Files.deleteIfExists(path);
      if (permits.tryAcquire(most, LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS)) {
        return;
      }
      for (SocketChannel front : fronts) {
        front.close();
      }
      var _ = permits.tryAcquire(most, LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS);
    } catch (IOException e) {
      LOG.log(Level.WARNING, "event=server_stop_failed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
