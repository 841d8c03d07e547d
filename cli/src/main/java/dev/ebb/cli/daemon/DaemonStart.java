package dev.ebb.cli.daemon;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.output.Table;
import dev.ebb.client.EbbClient;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.kernel.Spawn;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Starts the daemon of this host in the background. Of several at once one starts it, and the
 * others wait for it.
 */
final class DaemonStart {
  private static final Duration PATIENCE = Duration.ofSeconds(40);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(20);

  /** The log of earlier daemons is kept up to this size. */
  private static final long LOG_MOST = 1 << 20;

  private static final int LINES_SHOWN = 10;

  /** Its working directory must not keep ours busy. */
  private static final String SCRIPT = "cd / && exec \"$0\" serve";

  private final Caller caller;
  private final Path root;
  private final Path home;
  private final Path log;

  /** The daemon writes its pid to this file: we only know that of its supervisor. */
  private final Path file;

  private final Deadline deadline = Deadline.in(PATIENCE);

  private DaemonStart(Caller caller, Path root, Path home) {
    this.caller = caller;
    this.root = root;
    this.home = home;
    log = home.resolve("daemon.log");
    file = home.resolve("daemon");
  }

  /** Empty if the location of the {@code ebb} script is unknown. */
  static Optional<DaemonStart> ofThisHost(Caller caller) {
    return caller
        .root()
        .map(root -> new DaemonStart(caller, root, HomeTools.prepareHome(caller.home())));
  }

  private void reportStart() throws IOException {
    caller
        .err()
        .println(
            "ebb: started the daemon, pid %s; ebb serve runs it in the foreground"
                .formatted(Files.readString(file).strip()));
  }

  EbbClient start() throws IOException {
    try (var scope = new Scope()) {
      // The process that holds the lock of the log starts the daemon.
      Fd lock = Fd.open(scope, log, Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
      if (!Filesystem.tryLock(lock)) {
        return await(Optional.empty(), 0);
      }
      // RACE: another process may have started it since it did not answer.
      Optional<EbbClient> there = DaemonConnection.find(caller);
      if (there.isPresent()) {
        return there.get();
      }
      if (Files.size(log) > LOG_MOST) {
        Filesystem.truncate(lock, 0);
      }
      long logged = Files.size(log);
      Pidfd daemon = spawn(scope);
      EbbClient client = await(Optional.of(daemon), logged);
      if (daemon.reap().isEmpty()) {
        reportStart();
      }
      return client;
    } catch (KernelException e) {
      throw new IOException("cannot start the daemon: " + e.getMessage(), e);
    }
  }

  private Pidfd spawn(Scope scope) throws KernelException {
    Fd input = Fd.open(scope, Path.of("/dev/null"), Fd.Flag.READ);
    Fd output = Fd.open(scope, log, Fd.Flag.WRITE, Fd.Flag.APPEND);
    List<String> words = List.of("sh", "-c", SCRIPT, root.resolve("ebb").toString());
    List<String> environment = DaemonEnvironment.of(caller, caller.environment(), home);
    return Spawn.spawn(
        scope, Path.of("/bin/sh"), words, environment, List.of(input, output, output));
  }

  /** Waits for an answer, of the daemon we started or of another one that was faster. */
  private EbbClient await(Optional<Pidfd> daemon, long logged) throws IOException, KernelException {
    boolean lives = true;
    while (true) {
      Optional<EbbClient> client = DaemonConnection.find(caller);
      if (client.isPresent()) {
        return client.get();
      }
      lives = lives && (daemon.isEmpty() || daemon.get().reap().isEmpty());
      if ((!lives && !isServed()) || !deadline.pause(LOOK_AGAIN)) {
        throw new IOException(failure(daemon, lives, logged));
      }
    }
  }

  /** True if a daemon, perhaps another than ours, has locked the home. */
  private boolean isServed() throws KernelException {
    try (var brief = new Scope()) {
      return Files.exists(file) && !Filesystem.tryLock(Fd.open(brief, file, Fd.Flag.READ_WRITE));
    }
  }

  /** Ends a daemon that is late, as no caller would know of it. */
  private String failure(Optional<Pidfd> daemon, boolean lives, long logged)
      throws IOException, KernelException {
    if (lives && daemon.isPresent()) {
      daemon.get().signal(Signal.TERM);
    }
    String what =
        lives
            ? "the daemon does not answer after " + PATIENCE.toSeconds() + " s"
            : "the daemon did not start";
    return what + "; see " + log + lastLines(logged);
  }

  private String lastLines(long logged) throws IOException {
    byte[] all = Files.readAllBytes(log);
    int from = (int) Math.min(logged, all.length);
    List<String> lines =
        new String(all, from, all.length - from, StandardCharsets.UTF_8).lines().toList();
    var shown = new StringBuilder();
    for (String line : lines.subList(Math.max(0, lines.size() - LINES_SHOWN), lines.size())) {
      shown.append("\n  ").append(Table.clean(line));
    }
    return shown.toString();
  }
}
