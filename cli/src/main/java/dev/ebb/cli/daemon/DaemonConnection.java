package dev.ebb.cli.daemon;

import dev.ebb.cli.caller.Caller;
import dev.ebb.client.EbbClient;
import dev.ebb.client.NoDaemonException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLException;

/** Finds the daemon and connects to it. */
public final class DaemonConnection {
  private DaemonConnection() {}

  /** The daemon that the environment names, or this host's own. */
  public static EbbClient open(Caller caller) throws IOException {
    try {
      return connect(caller);
    } catch (NoDaemonException e) {
      throw new IOException(noDaemon(caller), e);
    }
  }

  /** Connects to the daemon; that of this host is started if it does not run. */
  public static EbbClient openOrStart(Caller caller) throws IOException {
    Optional<EbbClient> there = find(caller);
    if (there.isPresent()) {
      return there.get();
    }
    boolean elsewhere = !caller.environment().getOrDefault("EBB_URL", "").isEmpty();
    Optional<DaemonStart> start = elsewhere ? Optional.empty() : DaemonStart.ofThisHost(caller);
    return start.isPresent() ? start.get().start() : open(caller);
  }

  /** Connects to the daemon if it runs. */
  public static Optional<EbbClient> find(Caller caller) throws IOException {
    try {
      return Optional.of(connect(caller));
    } catch (NoDaemonException e) {
      return Optional.empty();
    }
  }

  private static EbbClient connect(Caller caller) throws IOException {
    Map<String, String> environment = caller.environment();
    String url = environment.getOrDefault("EBB_URL", "");
    if (url.isEmpty()) {
      return EbbClient.connect(socket(caller), caller.threads());
    }
    String key = environment.getOrDefault("EBB_KEY", "");
    String authorities = environment.getOrDefault("EBB_CA", "");
    try {
      return authorities.isEmpty()
          ? EbbClient.connect(URI.create(url), key)
          : EbbClient.connect(URI.create(url), key, caller.path(authorities));
    } catch (IllegalArgumentException e) {
      throw new IOException("EBB_URL: " + e.getMessage(), e);
    } catch (SSLException e) {
      String remedy =
          authorities.isEmpty()
              ? "; set EBB_CA to a PEM file with the certificate of its authority"
              : "; EBB_CA is " + authorities;
      throw new IOException("EBB_URL: " + e.getMessage() + remedy, e);
    } catch (NoSuchFileException e) {
      throw new IOException("EBB_CA: no such file: " + authorities, e);
    }
  }

  public static Path socket(Caller caller) {
    String socket = caller.environment().getOrDefault("EBB_SOCKET", "");
    return socket.isEmpty() ? caller.home().resolve("ebb.sock") : caller.absolutePath(socket);
  }

  public static String noDaemon(Caller caller) {
    String url = caller.environment().getOrDefault("EBB_URL", "");
    if (!url.isEmpty()) {
      return "no daemon answers at " + url + " (EBB_URL)";
    }
    Path socket = socket(caller);
    return Files.exists(socket) && !Files.isWritable(socket)
        ? "permission denied: the daemon at " + socket
        : "no daemon answers at " + socket + "; start one with ebb create or ebb serve";
  }
}
