package dev.ebb.cli.daemon;

import dev.ebb.client.EbbClient;
import dev.ebb.client.NoDaemonException;
import dev.ebb.engine.HomeTools;
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
  public static EbbClient open() throws IOException {
    try {
      return connect(System.getenv());
    } catch (NoDaemonException e) {
      throw new IOException(noDaemon(System.getenv()), e);
    }
  }

  /** Connects to the daemon; that of this host is started if it does not run. */
  public static EbbClient openOrStart() throws IOException {
    Optional<EbbClient> there = find();
    if (there.isPresent()) {
      return there.get();
    }
    boolean elsewhere = !System.getenv().getOrDefault("EBB_URL", "").isEmpty();
    Optional<DaemonStart> start = elsewhere ? Optional.empty() : DaemonStart.ofThisHost();
    return start.isPresent() ? start.get().start() : open();
  }

  /** Connects to the daemon if it runs. */
  public static Optional<EbbClient> find() throws IOException {
    try {
      return Optional.of(connect(System.getenv()));
    } catch (NoDaemonException e) {
      return Optional.empty();
    }
  }

  private static EbbClient connect(Map<String, String> environment) throws IOException {
    String url = environment.getOrDefault("EBB_URL", "");
    if (url.isEmpty()) {
      return EbbClient.connect(socket(environment));
    }
    String key = environment.getOrDefault("EBB_KEY", "");
    String authorities = environment.getOrDefault("EBB_CA", "");
    try {
      return authorities.isEmpty()
          ? EbbClient.connect(URI.create(url), key)
          : EbbClient.connect(URI.create(url), key, Path.of(authorities));
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

  public static Path socket(Map<String, String> environment) {
    String socket = environment.getOrDefault("EBB_SOCKET", "");
    return socket.isEmpty()
        ? HomeTools.defaultHome().resolve("ebb.sock")
        : Path.of(socket).toAbsolutePath();
  }

  public static String noDaemon(Map<String, String> environment) {
    String url = environment.getOrDefault("EBB_URL", "");
    if (!url.isEmpty()) {
      return "no daemon answers at " + url + " (EBB_URL)";
    }
    Path socket = socket(environment);
    return Files.exists(socket) && !Files.isWritable(socket)
        ? "permission denied: the daemon at " + socket
        : "no daemon answers at " + socket + "; start one with ebb create or ebb serve";
  }
}
