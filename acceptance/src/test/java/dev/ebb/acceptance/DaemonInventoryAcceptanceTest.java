package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Holding;
import dev.ebb.client.OutputStreamName;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The holdings that Ebb reports for a box agree with a program that shares no code with Ebb. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonInventoryAcceptanceTest {
  /** Listens at four ports, keeps a zombie and a child, and then prints a line. */
  private static final String PLANT =
      """
      import os, signal, socket, time
      for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"),
                                    (socket.AF_INET6, socket.SOCK_STREAM, "::1"),
                                    (socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0"),
                                    (socket.AF_INET6, socket.SOCK_DGRAM, "::1")):
          one = socket.socket(family, kind)
          one.bind((address, 8080))
          if kind == socket.SOCK_STREAM:
              one.listen()
          os.set_inheritable(one.fileno(), True)
          one.detach()
      if os.fork() == 0:
          os._exit(0)
      if os.fork() == 0:
          signal.pause()
      print("planted", flush=True)
      signal.pause()
      """;

  @RegisterExtension static final DaemonProcess DAEMON = new DaemonProcess();

  private EbbClient client;

  @BeforeEach
  void connect() throws IOException {
    TestHost.require(Feature.CGROUPS);
    client = DAEMON.client();
  }

  private List<Holding> holdings(String box, String kind) throws IOException {
    return client.boxes().inspect(box).holdings().stream()
        .filter(each -> each.kind().equals(kind))
        .toList();
  }

  private static Set<Long> pids(List<Holding> processes) {
    return processes.stream().map(Holding::pid).collect(Collectors.toSet());
  }

  /** Dead or alive, as the oracle sees them. */
  private static List<ProcessEntry> seen(String id) throws IOException {
    return ProcessTable.read().entries().stream()
        .filter(entry -> entry.cgroup().contains("/" + id + "/"))
        .toList();
  }

  private static Set<Long> pidsSeen(String id) throws IOException {
    return seen(id).stream().map(entry -> (long) entry.pid()).collect(Collectors.toSet());
  }

  /** Inodes of listening TCP and bound UDP sockets in the network namespace of a process. */
  private static Set<String> inodesSeen(int pid) throws IOException {
    Path net = Proc.ROOT.resolve(Integer.toString(pid)).resolve("net");
    var lines =
        Stream.of("tcp", "tcp6", "udp", "udp6")
            .flatMap(
                table -> {
                  try {
                    return Proc.lines(net.resolve(table)).stream().skip(1);
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                });
    return lines
        .map(line -> line.strip().split("\\s+"))
        .filter(fields -> fields[3].equals("0A") || fields[3].equals("07"))
        .map(fields -> "inode " + fields[9])
        .collect(Collectors.toSet());
  }

  /** KERNEL: proc(5), mountinfo, field 5. */
  private static List<String> mountsSeen(int pid) throws IOException {
    Path table = Proc.ROOT.resolve(Integer.toString(pid)).resolve("mountinfo");
    return Proc.lines(table).stream().map(line -> line.split(" ")[4]).toList();
  }

  @Test
  void whatIsPlantedIsListed() throws Exception {
    String id = client.boxes().create(BoxRequest.defaults().withName("full").withDetached()).id();
    var exec = client.execs("full").start(ExecRequest.of("python3", "-c", PLANT));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> client.execs("full").inspect(exec.number()).stdoutBytes() > 0);

    List<Holding> processes = holdings("full", "process");
    assertThat(processes).as("init, leader, child, zombie").hasSize(4);
    assertThat(pids(processes)).isEqualTo(pidsSeen(id));
    assertThat(processes).filteredOn(each -> "Z".equals(each.state())).hasSize(1);
    assertThat(processes)
        .filteredOn(each -> each.exec() != null)
        .as("all but init are of the command")
        .hasSize(3);

    List<Holding> ports = holdings("full", "port");
    assertThat(ports)
        .extracting(Holding::subject)
        .containsExactlyInAnyOrder(
            "tcp 127.0.0.1:8080",
            "tcp6 [0:0:0:0:0:0:0:1]:8080",
            "udp 0.0.0.0:8080",
            "udp6 [0:0:0:0:0:0:0:1]:8080");
    int init = seen(id).stream().mapToInt(ProcessEntry::pid).min().orElseThrow();
    assertThat(ports.stream().map(Holding::detail).collect(Collectors.toSet()))
        .isEqualTo(inodesSeen(init));

    assertThat(holdings("full", "mount"))
        .extracting(Holding::subject)
        .containsExactlyInAnyOrderElementsOf(mountsSeen(init));
    assertThat(holdings("full", "descriptor")).isNotEmpty();

    List<Holding> sockets = holdings("full", "socket");
    assertThat(sockets).hasSize(1);
    assertThat(sockets.getFirst().subject()).endsWith("/" + id + "/control");
    assertThat(Path.of(sockets.getFirst().subject())).exists();

    assertThat(client.boxes().remove("full", true).clean()).isTrue();
  }

  /** Of the ports of the host, only those of its processes belong to a box. */
  @Test
  void inTheNetworkOfTheHostItsOwnPortsAreListed() throws Exception {
    String listen =
        """
        import signal, socket
        one = socket.create_server(("127.0.0.1", 0))
        print(one.getsockname()[1], flush=True)
        signal.pause()
        """;
    try (var foreign = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      client.boxes().create(BoxRequest.defaults().withName("host").withNetwork("host"));
      var execs = client.execs("host");
      var exec = execs.start(ExecRequest.of("python3", "-c", listen));
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> execs.inspect(exec.number()).stdoutBytes() > 0);
      String port;
      try (var said = execs.output(exec.number(), OutputStreamName.STDOUT, 0)) {
        port = new String(said.readAllBytes(), StandardCharsets.US_ASCII).strip();
      }
      assertThat(holdings("host", "port"))
          .extracting(Holding::subject)
          .containsExactly("tcp 127.0.0.1:" + port)
          .doesNotContain("tcp 127.0.0.1:" + foreign.getLocalPort());
    }
  }

  @Test
  void ofMorePortsThanAThousandTheRestIsNotListed() throws Exception {
    String listen =
        """
        import signal, socket
        all = [socket.create_server(("127.0.0.1", 0)) for _ in range(1001)]
        print("listening", flush=True)
        signal.pause()
        """;
    client.boxes().create(BoxRequest.defaults().withName("many"));
    var execs = client.execs("many");
    var exec = execs.start(ExecRequest.of("python3", "-c", listen).withLimits(null, 2000, null));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .until(() -> execs.inspect(exec.number()).stdoutBytes() > 0);
    assertThat(holdings("many", "port"))
        .hasSize(1001)
        .last()
        .extracting(Holding::subject)
        .isEqualTo("more than 1000 are not listed");
  }

  /** A request while a command starts is answered with its process, or with none. */
  @Test
  void aCommandIsListedRightAfterItsStart() throws Exception {
    String id = client.boxes().create(BoxRequest.defaults().withName("quick")).id();
    for (int i = 1; i <= 10; i++) {
      client.execs("quick").start(ExecRequest.of("sleep", "1000"));
      List<Holding> processes = holdings("quick", "process");
      assertThat(processes).hasSize(1 + i);
      assertThat(pids(processes)).isEqualTo(pidsSeen(id));
      assertThat(processes).filteredOn(each -> each.exec() != null).hasSize(i);
    }
  }

  /** An inventory waits for an init that is slow to answer for a command. */
  @Test
  void aCommandThatIsAboutToStartIsWaitedFor() throws Exception {
    client.boxes().create(BoxRequest.defaults().withName("late"));
    long init = requireNonNull(holdings("late", "process").getFirst().pid());
    signal("STOP", init);
    CompletableFuture<List<Holding>> seen;
    try {
      Thread.ofVirtual().start(() -> start("late"));
      await().atMost(DaemonProcess.PATIENCE).until(() -> !client.execs("late").list().isEmpty());
      seen = CompletableFuture.supplyAsync(() -> processes("late"));
      // Less than the inventory waits, and much more than it takes when it does not.
      assertThatExceptionOfType(TimeoutException.class)
          .isThrownBy(() -> seen.get(300, TimeUnit.MILLISECONDS));
    } finally {
      signal("CONT", init);
    }
    assertThat(seen.get(30, TimeUnit.SECONDS)).filteredOn(each -> each.exec() != null).hasSize(1);
  }

  private static void signal(String word, long pid) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder("kill", "-" + word, Long.toString(pid)).start().waitFor())
        .isZero();
  }

  private void start(String box) {
    try {
      client.execs(box).start(ExecRequest.of("sleep", "1000"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private List<Holding> processes(String box) {
    try {
      return holdings(box, "process");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
