package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.UnixSocket;
import dev.ebb.process.ProcFs;
import dev.ebb.testkit.LeakChecked;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A hostile init sends sockets with a close that lasts as long as it wants: no thread of the engine
 * waits for that, neither the one that receives nor the one that ends the box.
 */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class HostileDescriptorKernelTest {
  private static final int SELF = (int) ProcessHandle.current().pid();
  private static final byte[] NONCE = new byte[Protocol.NONCE_SIZE];

  /** Much less than the sockets linger. */
  private static final Duration AT_ONCE = Duration.ofSeconds(8);

  /** A socket that listens, and a connected one with data that is not read. */
  private static final String SOCKETS =
      """
      def listening():
          l = socket.socket()
          l.bind(("127.0.0.1", 0))
          l.listen()
          return l
      def lingering():
          l = listening()
          c = socket.create_connection(l.getsockname())
          a = l.accept()[0]
          kept.append(a)
          fill(c)
          return c
      def fill(c):
          c.setblocking(False)
          try:
              while True: c.send(b"x" * 65536)
          except BlockingIOError: pass
          c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 40))
      kept = []
      """;

  @TempDir private Path lib;

  private final Scope scope = new Scope();
  private final CountDownLatch lost = new CountDownLatch(1);

  /** Sockets of the engine that are to be closed because of what is in them. */
  private final AtomicInteger unclosed = new AtomicInteger();

  private Scope box;
  private Poller poller;
  private Fd peer;
  private InitChannel channel;

  @BeforeEach
  void open() throws Exception {
    poller = Poller.start(scope, "test-poller");
    var discards = new Discards(poller, InitBinary.stage(scope, lib));
    box = Scope.in(scope);
    InitWire.Pair pair =
        InitWire.pair(
            box,
            scope,
            (socket, close) -> {
              unclosed.incrementAndGet();
              discards.discard(
                  socket,
                  () -> {
                    close.run();
                    unclosed.decrementAndGet();
                  });
            });
    peer = pair.peer();
    channel = InitChannel.open(box, poller, pair.ours(), NONCE);
    channel.whenClosed(lost::countDown);
    sayLaunched();
  }

  @AfterEach
  void close() throws KernelException {
    Awaitility.await("what was discarded is gone").until(() -> ProcFs.children().isEmpty());
    scope.close();
  }

  private static byte[] message(int type, int... body) {
    byte[] bytes = new byte[Protocol.HEADER_SIZE + 4 * body.length];
    var message = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    message.putInt(4 * body.length).putShort((short) type).putShort((short) 0).putInt(0).putInt(0);
    for (int word : body) {
      message.putInt(word);
    }
    return bytes;
  }

  private void sayLaunched() throws KernelException, InterruptedException {
    try (var passing = new Scope()) {
      byte[] launched = message(Protocol.MESSAGE_LAUNCHED, SELF);
      UnixSocket.of(peer)
          .send(launched, 0, launched.length, List.of(Pidfd.open(passing, SELF).fd()));
    }
    byte[] hello = message(Protocol.MESSAGE_HELLO, Protocol.PROTOCOL_VERSION, 0, 0, 0, 0);
    UnixSocket.of(peer).send(hello, 0, hello.length, List.of());
    assertThat(channel.awaitHello(Deadline.in(AT_ONCE))).isPresent();
  }

  /** Acts as init: {@code m} is the message, {@code lingering()} makes a socket. */
  private ForeignProcess init(byte[] m, String code) throws KernelException {
    String message = "m = bytes.fromhex(\"" + HexFormat.of().formatHex(m) + "\")\n";
    return new ForeignProcess(peer, SOCKETS + message + code + "\ntime.sleep(1000)\n");
  }

  private void assertEndsAtOnce() throws Exception {
    assertThat(lost.await(AT_ONCE.toSeconds(), TimeUnit.SECONDS)).as("the channel ends").isTrue();
    assertThat(poller.catchUp(Deadline.in(AT_ONCE))).as("the poller turns").isTrue();
    var release =
        new FutureTask<Boolean>(
            () -> {
              scope.release(box);
              return true;
            });
    Thread.ofPlatform().name("release").start(release);
    assertThat(release.get(AT_ONCE.toSeconds(), TimeUnit.SECONDS))
        .as("the box is given back")
        .isTrue();
    assertThat(poller.catchUp(Deadline.in(AT_ONCE))).as("the poller turns on").isTrue();
    Awaitility.await("no thread is left to close a socket")
        .atMost(AT_ONCE)
        .until(() -> unclosed.get() == 0);
  }

  @Test
  void anUnaskedSocketDoesNotBlockTheEngine() throws Exception {
    byte[] output = message(Protocol.MESSAGE_OUTPUT, 0, 0, 0, 0);
    try (var _ =
        init(output, "c = lingering()\nsocket.send_fds(s, [m], [c.fileno()])\nc.close()")) {
      assertEndsAtOnce();
    }
  }

  @Test
  void manySocketsDoNotBlockTheEngine() throws Exception {
    byte[] output = message(Protocol.MESSAGE_OUTPUT, 0, 0, 0, 0);
    String code =
        """
        all = [lingering() for _ in range(40)]
        socket.send_fds(s, [m], [c.fileno() for c in all])
        for c in all: c.close()
        """;
    try (var _ = init(output, code)) {
      assertEndsAtOnce();
    }
  }

  @Test
  void aWrongSocketDoesNotBlockTheEngine() throws Exception {
    byte[] listening = message(Protocol.MESSAGE_LISTENING, 0);
    String code =
        """
        s.recv(1000)
        c = lingering()
        socket.send_fds(s, [m], [c.fileno()])
        c.close()
        """;
    try (var _ = init(listening, code)) {
      assertThatThrownBy(() -> channel.queries().listen(1, Deadline.in(AT_ONCE)))
          .isInstanceOf(KernelException.class);
      assertEndsAtOnce();
    }
  }

  /**
   * Init has a copy of it: what listened when the engine took it is connected when it is closed.
   */
  @Test
  void aSocketThatWasAskedForAndLingersLaterDoesNotBlockTheEngine() throws Exception {
    byte[] listening = message(Protocol.MESSAGE_LISTENING, 0);
    Path taken = lib.resolve("taken");
    String code =
        """
        import os
        s.recv(1000)
        l = listening()
        socket.send_fds(s, [m], [l.fileno()])
        while not os.path.exists("%s"): time.sleep(0.01)
        other = listening()
        l.shutdown(socket.SHUT_RD)
        l.connect(other.getsockname())
        kept.append(other.accept()[0])
        fill(l)
        l.close()
        s.send(bytes.fromhex("%s"))
        """
            .formatted(taken, HexFormat.of().formatHex(message(99)));
    try (var _ = init(listening, code)) {
      assertThat(channel.queries().listen(1, Deadline.in(AT_ONCE))).isNotNull();
      Files.createFile(taken);
      assertEndsAtOnce();
    }
  }

  /** The release of the box meets what the engine has not received. */
  @Test
  void anUnreceivedSocketDoesNotBlockTheEngine() throws Exception {
    byte[] output = message(99);
    String code =
        """
        s.send(m)
        c = lingering()
        time.sleep(0.2)
        try:
            socket.send_fds(s, [m], [c.fileno()])
        except OSError: pass
        c.close()
        """;
    try (var _ = init(output, code)) {
      assertEndsAtOnce();
    }
  }

  /** The control: what was asked for is taken. */
  @Test
  void theSocketThatWasAskedForIsTaken() throws Exception {
    byte[] listening = message(Protocol.MESSAGE_LISTENING, 0);
    String code =
        """
        s.recv(1000)
        l = listening()
        socket.send_fds(s, [m], [l.fileno()])
        """;
    try (var _ = init(listening, code)) {
      assertThat(channel.queries().listen(1, Deadline.in(AT_ONCE))).isNotNull();
      assertThat(lost.getCount()).isEqualTo(1);
      Awaitility.await().until(() -> poller.catchUp(Deadline.in(AT_ONCE)));
    }
  }
}
