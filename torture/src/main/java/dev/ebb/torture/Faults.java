package dev.ebb.torture;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Output;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Faults from outside a daemon, or from callers and boxes, that kill nothing. After each the daemon
 * must answer, and its reports of known commands must be true.
 */
final class Faults {
  private static final int CODE = 7;
  private static final int COMMANDS = 40;
  private static final Duration TIMEOUT = Duration.ofSeconds(3);

  /** Longer than the timeout of a command, and than all that the engine grants beyond it. */
  private static final Duration LONG_STOP = Duration.ofSeconds(12);

  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration CELL_PATIENCE = Duration.ofSeconds(5);
  private static final int NAME_MOST = 63;
  private static final int LABELS_MOST = 64;
  private static final int LABEL_MOST = 256;

  /** The kernel takes no longer string. */
  private static final int ARGUMENT = 100_000;

  /** Sends a socket that takes its time to be closed to each end that is open. */
  private static final String DESCRIPTORS =
      """
      import array, os, socket, struct, time
      door = socket.socket()
      door.bind(('127.0.0.1', 0))
      door.listen()
      sent = socket.create_connection(door.getsockname())
      kept, _ = door.accept()
      if os.fork() == 0:
          os.setsid()
          sent.close()
          time.sleep(60)
          os._exit(0)
      sent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 600))
      sent.setblocking(False)
      try:
          while True:
              sent.send(b'x' * 65536)
      except BlockingIOError:
          pass
      for name in os.listdir('/proc/self/fd'):
          try:
              if int(name) < 3 or not os.readlink('/proc/self/fd/' + name).startswith('socket:'):
                  continue
              line = socket.socket(fileno=os.dup(int(name)))
              if line.family == socket.AF_UNIX:
                  line.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                      array.array('i', [sent.fileno()] * 8))])
          except OSError:
              pass
      sent.close()
      """;

  private final ServedHome daemon;
  private final Tally tally;
  private final int connections;

  /**
   * @param connections how many the daemon takes
   */
  Faults(ServedHome daemon, Tally tally, int connections) {
    this.daemon = daemon;
    this.tally = tally;
    this.connections = connections;
  }

  /** Work with a box of our own, which goes with it. */
  private interface Work {
    void in(EbbClient client, String box) throws IOException;
  }

  private void inBox(BoxRequest request, Work work) throws IOException {
    EbbClient client = daemon.client();
    String box = client.boxes().create(request).id();
    try {
      work.in(client, box);
    } finally {
      client.boxes().remove(box, true);
    }
  }

  /** Restarts a daemon that does not answer: what comes after it has a right to one that does. */
  private void requireAnswers(String where) throws IOException {
    List<Trace> wrong = Truth.answers(daemon::newClient, PATIENCE);
    tally.checked(Invariant.I14, where, wrong);
    if (!wrong.isEmpty()) {
      daemon.restart(tally::daemonKilled);
    }
  }

  // --- from outside ---

  /** It does not run for a while; commands that end meanwhile have ended in time. */
  void stopDaemon(int choice, String where) throws IOException {
    Duration length = choice % 3 == 0 ? LONG_STOP : Duration.ofMillis(200 + choice % 1300);
    inBox(
        BoxRequest.defaults().withLimits(new Limits(128L << 20, 4 * COMMANDS, null, 8L << 20)),
        (client, box) -> {
          var execs = new ArrayList<Exec>();
          for (int i = 0; i < COMMANDS; i++) {
            var command = ExecRequest.of("sh", "-c", "sleep 0.2; exit " + CODE);
            execs.add(client.execs(box).start(command.withTimeout(TIMEOUT)));
          }
          daemon.pause(length);
          for (Exec each : execs) {
            Exec ended = client.execs(box).await(each.number(), PATIENCE);
            tally.checked(Invariant.I14, where, Truth.inTime(ended, CODE));
          }
        });
    requireAnswers(where);
  }

  /** The next one logs to a pipe that is full and never read. */
  void blockLog(String where) throws IOException {
    daemon.restartWithBlockedLog(tally::daemonKilled);
    requireAnswers(where);
  }

  // --- callers ---

  /**
   * Opens more TCP connections than the daemon accepts, and sends nothing; our own client uses the
   * unix socket.
   */
  void silence(int choice, String where) throws IOException {
    var silent = new ArrayList<Socket>();
    try {
      for (int i = connections + 20 + choice % 50; i > 0; i--) {
        silent.add(new Socket(InetAddress.getLoopbackAddress(), daemon.port()));
      }
      requireAnswers(where);
    } finally {
      for (Socket each : silent) {
        each.close();
      }
    }
  }

  /** The longest that may be asked for, or a bit more; a refusal is an answer. */
  void giants(int choice, String where) throws IOException {
    var request = Truth.SMALL.withName("g".repeat(NAME_MOST));
    for (int i = 0; i < LABELS_MOST; i++) {
      String key = Integer.toString(i);
      request =
          request.withLabel(key + "k".repeat(LABEL_MOST - key.length()), "v".repeat(LABEL_MOST));
    }
    inBox(request, (client, box) -> startGiants(client, box, choice));
    requireAnswers(where);
  }

  private void startGiants(EbbClient client, String box, int choice) throws IOException {
    var words = new ArrayList<>(List.of("sh", "-c", "sleep 5"));
    var environment = ExecRequest.of("sleep", "5");
    for (int i = 0; i < 4 + choice % 8; i++) {
      words.add("a".repeat(ARGUMENT));
      environment = environment.withEnvironment("E" + i, "e".repeat(ARGUMENT));
    }
    Output input = Output.of(new byte[1 << (18 + choice % 5)]);
    var requests =
        List.of(
            ExecRequest.of(words),
            environment,
            ExecRequest.of("sleep", "5").withInput(input),
            ExecRequest.of("sleep", "5").withInput(input));
    startEach(client, box, requests);
    client.boxes().inspect(box);
    client.execs(box).list();
  }

  private void startEach(EbbClient client, String box, List<ExecRequest> requests)
      throws IOException {
    for (ExecRequest each : requests) {
      try {
        client.execs(box).start(each);
      } catch (EbbException e) {
        tally.count(Tally.Group.REFUSAL, e.code());
      }
    }
  }

  // --- boxes ---

  /** A cell that sends descriptors to the reader of its interpreter's socket. */
  void sendDescriptors(String where) throws IOException {
    var request = BoxRequest.defaults().withLimits(new Limits(256L << 20, 64, null, 8L << 20));
    inBox(
        request,
        (client, box) -> {
          String context = client.contexts(box).create(ContextRequest.of("python")).id();
          var cell = CellRequest.of(DESCRIPTORS).withTimeout(Duration.ofMinutes(10));
          Thread running =
              Thread.ofVirtual().name("torture-cell").start(() -> run(client, box, context, cell));
          join(running);
          requireAnswers(where);
        });
  }

  /** The cell breaks its own context; this does not check how the daemon reports it. */
  private void run(EbbClient client, String box, String context, CellRequest cell) {
    try {
      tally.count(Tally.Group.CELL, client.contexts(box).run(context, cell).outcome());
    } catch (IOException e) {
      tally.count(Tally.Group.CELL, e instanceof EbbException reply ? reply.code() : "no answer");
    }
  }

  private static void join(Thread thread) throws IOException {
    try {
      var _ = thread.join(CELL_PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }
}
