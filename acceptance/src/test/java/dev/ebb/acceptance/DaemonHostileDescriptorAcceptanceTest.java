package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.Contexts;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Cells that send sockets to the engine; closing these takes for ever. */
@Tag("kernel")
@Timeout(180)
final class DaemonHostileDescriptorAcceptanceTest {
  /** The other end stays in the cell, which never reads. */
  private static final String SEND =
      """
      import os, socket, struct, array
      lines = []
      for f in os.listdir('/proc/self/fd'):
          try:
              if 'socket:' in os.readlink('/proc/self/fd/' + f): lines.append(int(f))
          except OSError: pass
      server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
      client = socket.socket(); client.connect(server.getsockname())
      peer, _ = server.accept()
      client.setblocking(False)
      try:
          while True: client.send(b'x' * 65536)
      except BlockingIOError: pass
      client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 2**31 - 1))
      line = socket.socket(fileno=lines[0])
      rights = array.array('i', [client.fileno()])
      try:
          line.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
      finally:
          line.detach()
      client.close()
      """;

  /** While the cell lives, so does the other end. */
  private static final String SEND_AND_STAY = SEND + "import time; time.sleep(1000)\n";

  private static CellResult attack(EbbClient client, Box box, String code) throws IOException {
    Contexts contexts = client.contexts(box.id());
    String context = contexts.create(ContextRequest.of("python")).id();
    return contexts.run(context, CellRequest.of(code));
  }

  private static void requireServed(DaemonProcess daemon, String code, String outcome)
      throws Exception {
    EbbClient client = daemon.client();
    client.run(BoxRequest.defaults(), ExecRequest.of("true"));
    int descriptors = daemon.descriptors();
    Box hostile = client.boxes().create(BoxRequest.defaults());
    for (int i = 0; i < 3; i++) {
      CompletableFuture<CellResult> attack =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return attack(client, hostile, code);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      CellResult result = attack.get(20, TimeUnit.SECONDS);
      assertThat(result.outcome()).as(result.document().toString()).isEqualTo(outcome);
      var served =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return client
                      .run(BoxRequest.defaults(), ExecRequest.of("echo", "1"))
                      .stdout()
                      .text();
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      assertThat(served.get(20, TimeUnit.SECONDS)).isEqualTo("1\n");
    }
    assertThat(Wire.ask(daemon.uri(), "GET", "/healthz", "").status()).isEqualTo(200);
    assertThat(client.boxes().remove(hostile.id(), true).clean()).isTrue();
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(daemon.descriptors()).isLessThan(descriptors + 3));
    // The extension ends the daemon by SIGTERM, and expects it to exit with 0.
  }

  @Nested
  @LeakChecked
  @Tag("kernel")
  final class Here {
    @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

    /** KERNEL: from 6.16 on the sender is refused, with EPERM. */
    @Test
    void aSocketThatLingersForEverDelaysNoCaller() throws Exception {
      requireServed(daemon, SEND, isRefusedByTheKernel() ? "error" : "broken");
    }
  }

  @Nested
  @LeakChecked
  @Tag("kernel")
  final class OnAnOldKernel {
    @RegisterExtension
    final DaemonProcess daemon =
        new DaemonProcess(List::of, Map.of("JDK_JAVA_OPTIONS", "-Debb.oldkernel=true"));

    @Test
    void aSocketThatLingersForEverEndsItsContextAlone() throws Exception {
      requireServed(daemon, SEND, "died");
    }

    @Test
    void aCellThatStaysWithTheOtherEndIsEnded() throws Exception {
      requireServed(daemon, SEND_AND_STAY, "died");
    }
  }

  private static boolean isRefusedByTheKernel() throws IOException {
    String[] release = Files.readString(Path.of("/proc/sys/kernel/osrelease")).split("[.-]");
    int major = Integer.parseInt(release[0]);
    return major > 6 || (major == 6 && Integer.parseInt(release[1]) >= 16);
  }
}
