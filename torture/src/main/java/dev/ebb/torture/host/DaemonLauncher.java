package dev.ebb.torture.host;

import dev.ebb.client.EbbClient;
import dev.ebb.client.NoDaemonException;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Spawn;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/** Starts a daemon on a home of its own, and waits until it answers. */
final class DaemonLauncher {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Duration LOOK_AGAIN = Duration.ofMillis(10);
  private static final Pattern PORT = Pattern.compile("http://127\\.0\\.0\\.1:(\\d+)");
  private static final int LINES_SHOWN = 5;

  /** Lines of a log that no daemon may write, whatever is done to it. */
  private static final Pattern ALARM =
      Pattern.compile(
          "event=(stalled|box_end_failed|request_failed|housekeeping_failed|handler_failed)\\b"
              + "|^Exception in thread");

  private static final int ALARM_LINES = 12;

  /**
   * Its working directory must not keep ours busy; a configuration of the host is not for it; it is
   * not to sweep away what the oracle is to see.
   */
  private static final String SCRIPT =
      "cd / && socket=$1 files=$2 log=$3 prefix=$4 && shift 4 &&"
          + " { [ \"$files\" = 0 ] || ulimit -n \"$files\"; } &&"
          + " { [ \"$log\" = read ] ||"
          + " dd if=/dev/zero of=/proc/self/fd/3 bs=4096 oflag=nonblock 3>&2 2>/dev/null || :; } &&"
          + " exec $prefix \"$0\" serve --until-eof --config /dev/null --sweep-interval 0 --pool off"
          + " --rehearsal false --socket \"$socket\" \"$@\"";

  private final Host host;
  private final int openFiles;
  private final List<String> flags;
  private final List<String> prefix;

  /**
   * Remembers how to start it.
   *
   * @param openFiles the most descriptors it may have; 0: as many as we
   * @param flags for {@code ebb serve}
   * @param prefix arguments without spaces, of the program that starts it
   */
  DaemonLauncher(Host host, int openFiles, List<String> flags, List<String> prefix) {
    this.host = host;
    this.openFiles = openFiles;
    this.flags = List.copyOf(flags);
    this.prefix = List.copyOf(prefix);
  }

  /**
   * Starts it.
   *
   * @param scope owns what lives as long as the daemon
   */
  DaemonLife launch(Scope scope, boolean isLogBlocked) throws KernelException, IOException {
    try (var passing = new Scope()) {
      Fd.Pipe stdin = Fd.pipe(passing, scope);
      Fd log = Fd.open(passing, log(), Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.APPEND);
      long writtenBefore = Files.size(log());
      // The end that is never read lives as long as the daemon.
      Fd errors = isLogBlocked ? Fd.pipe(scope, passing).write() : log;
      Pidfd outer =
          Spawn.spawn(
              scope,
              Path.of("/bin/sh"),
              words(isLogBlocked),
              host.environment(),
              List.of(stdin.read(), log, errors));
      EbbClient client = connect(outer);
      ProcessEntry daemon = daemon();
      return new DaemonLife(
          scope,
          stdin.write(),
          outer,
          daemon.parent(),
          Target.of(daemon),
          client,
          port(writtenBefore),
          isLogBlocked);
    }
  }

  private List<String> words(boolean isLogBlocked) {
    var words = new ArrayList<>(List.of("sh", "-c", SCRIPT, host.script().toString()));
    words.addAll(List.of(host.socket().toString(), Integer.toString(openFiles)));
    words.addAll(List.of(isLogBlocked ? "blocked" : "read", String.join(" ", prefix)));
    words.addAll(flags);
    return words;
  }

  private EbbClient connect(Pidfd outer) throws KernelException, IOException {
    Deadline deadline = Deadline.in(PATIENCE);
    while (true) {
      try {
        EbbClient connected = EbbClient.connect(host.socket());
        if (connected.isReady()) {
          return connected;
        }
        connected.close();
      } catch (NoDaemonException | SocketException e) {
        if (outer.reap().isPresent() || deadline.isOver()) {
          throw e;
        }
      }
      if (!deadline.pause(LOOK_AGAIN)) {
        throw new IOException("it is not ready after " + PATIENCE.toSeconds() + " s");
      }
    }
  }

  private ProcessEntry daemon() throws IOException {
    int pid = Integer.parseInt(Files.readString(host.home().resolve("daemon")).strip());
    return Target.find(ProcessTable.read(), pid)
        .orElseThrow(() -> new IOException("pid " + pid + " is not below us"));
  }

  /**
   * The port of the daemon that was just started. It is in its log, which may come later than its
   * answers.
   *
   * @param writtenBefore how many bytes of the log are of earlier daemons
   */
  private OptionalInt port(long writtenBefore) throws IOException {
    if (!flags.contains("--listen")) {
      return OptionalInt.empty();
    }
    Deadline deadline = Deadline.in(PATIENCE);
    do {
      byte[] written = Files.readAllBytes(log());
      int from = (int) Math.min(written.length, writtenBefore);
      var match =
          PORT.matcher(new String(written, from, written.length - from, StandardCharsets.UTF_8));
      if (match.find()) {
        return OptionalInt.of(Integer.parseInt(match.group(1)));
      }
    } while (deadline.pause(LOOK_AGAIN));
    throw new IOException("its log does not name its port");
  }

  /** The end of its log, to explain a failure. */
  String lastLines() throws IOException {
    if (!Files.exists(log())) {
      return "";
    }
    List<String> lines =
        new String(Files.readAllBytes(log()), StandardCharsets.UTF_8).lines().toList();
    int from = Math.max(0, lines.size() - LINES_SHOWN);
    return "\n  " + String.join("\n  ", lines.subList(from, lines.size()));
  }

  /** The lines of its log that report a fault of its own, each with those behind it. */
  List<String> alarms() throws IOException {
    if (!Files.exists(log())) {
      return List.of();
    }
    List<String> lines =
        new String(Files.readAllBytes(log()), StandardCharsets.UTF_8).lines().toList();
    var alarms = new ArrayList<String>();
    for (int i = 0; i < lines.size(); i++) {
      if (ALARM.matcher(lines.get(i)).find()) {
        int end = Math.min(lines.size(), i + ALARM_LINES);
        alarms.add(String.join(" | ", lines.subList(i, end)));
      }
    }
    return alarms;
  }

  private Path log() {
    return host.home().resolve("daemon.log");
  }
}
