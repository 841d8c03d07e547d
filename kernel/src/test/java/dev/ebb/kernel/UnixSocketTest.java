package dev.ebb.kernel;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UnixSocketTest {
  private static final byte[] HELLO = "hello".getBytes(US_ASCII);
  private static final int MOST_DESCRIPTORS = 16;

  private final Scope scope = new Scope();
  private final Scope ourEnd = new Scope();
  private final Scope peerEnd = new Scope();
  private final byte[] buffer = new byte[64];
  private UnixSocket ours;
  private UnixSocket peer;

  @BeforeEach
  void open() throws KernelException {
    var pair = UnixSocket.pair(ourEnd, peerEnd);
    ours = pair.ours();
    peer = UnixSocket.of(pair.peer());
  }

  @AfterEach
  void close() throws KernelException {
    ourEnd.close();
    peerEnd.close();
    scope.close();
  }

  private UnixSocket.Received receive() throws KernelException {
    return ours.receive(scope, buffer);
  }

  @Test
  void bytesArriveAsTheyWereSent() throws KernelException {
    assertThat(receive().bytes()).isEqualTo(-1);
    assertThat(peer.send(HELLO, 1, 3, List.of())).isEqualTo(3);
    var received = receive();
    assertThat(new String(buffer, 0, received.bytes(), US_ASCII)).isEqualTo("ell");
    assertThat(received.fds()).isEmpty();
  }

  @Test
  void aDescriptorArrivesAsTheSameOpenFile() throws KernelException {
    Fd file = Fd.memory(scope, "memory");
    file.write("content");
    peer.send(HELLO, 0, HELLO.length, List.of(file));
    var received = receive();
    assertThat(received.bytes()).isEqualTo(HELLO.length);
    assertThat(received.fds()).hasSize(1);
    Fd copy = received.fds().getFirst();
    file.close();
    byte[] content = new byte[16];
    assertThat(copy.readAt(0, content, 0, 16)).isEqualTo(7);
  }

  @Test
  void whatArrivesIsCloseOnExecAndOwned() throws Exception {
    long before = FdTest.openDescriptors();
    try (var brief = new Scope()) {
      Fd file = Fd.memory(brief, "memory");
      peer.send(HELLO, 0, 1, List.of(file));
      Fd copy = ours.receive(brief, buffer).fds().getFirst();
      assertThat(FdTest.flags(copy) & Fd.O_CLOEXEC).isNotZero();
      assertThat(brief.size()).isEqualTo(2);
    }
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
  }

  @Test
  void manyDescriptorsArriveInTheirOrder() throws KernelException {
    var sent = new ArrayList<Fd>();
    for (int i = 0; i < MOST_DESCRIPTORS; i++) {
      Fd file = Fd.memory(scope, "memory");
      file.write(Integer.toString(i));
      sent.add(file);
    }
    peer.send(HELLO, 0, 1, sent);
    var received = receive().fds();
    assertThat(received).hasSize(MOST_DESCRIPTORS);
    for (int i = 0; i < MOST_DESCRIPTORS; i++) {
      int n = received.get(i).readAt(0, buffer, 0, buffer.length);
      assertThat(new String(buffer, 0, n, US_ASCII)).isEqualTo(Integer.toString(i));
    }
  }

  @Test
  void moreDescriptorsThanThereIsRoomForAreAnErrorAndNoneIsLost() throws Exception {
    Fd file = Fd.memory(scope, "memory");
    long before = FdTest.openDescriptors();
    peer.send(HELLO, 0, 1, Collections.nCopies(MOST_DESCRIPTORS + 5, file));
    var brief = new Scope();
    assertThatThrownBy(() -> ours.receive(brief, buffer)).hasMessageEndingWith("EMFILE");
    brief.close();
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
  }

  @Test
  void descriptorsForAClosedScopeAreAllClosed() throws Exception {
    Fd file = Fd.memory(scope, "memory");
    long before = FdTest.openDescriptors();
    peer.send(HELLO, 0, 1, List.of(file, file, file));
    var closed = new Scope();
    closed.close();
    assertThatThrownBy(() -> ours.receive(closed, buffer)).hasMessage("scope is closed");
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
  }

  @Test
  void aClosedDescriptorCannotBeSentAndNothingIs() throws KernelException {
    Fd file = Fd.memory(scope, "memory");
    file.close();
    assertThatThrownBy(() -> peer.send(HELLO, 0, 1, List.of(file))).hasMessageEndingWith("EBADF");
    assertThat(receive().bytes()).isEqualTo(-1);
  }

  @Test
  void theEndIsSeenAfterWhatWasSentBefore() throws KernelException {
    peer.send(HELLO, 0, HELLO.length, List.of());
    peerEnd.close();
    assertThat(receive().bytes()).isEqualTo(HELLO.length);
    assertThat(receive().bytes()).isZero();
    assertThat(receive().bytes()).isZero();
  }

  @Test
  void aPeerThatLeftWithoutReadingIsTheEndToo() throws KernelException {
    ours.send(HELLO, 0, HELLO.length, List.of());
    peerEnd.close();
    assertThat(receive().bytes()).isZero();
  }

  @Test
  void sendingToAClosedSocketIsAnErrorAndNoSignal() throws KernelException {
    peerEnd.close();
    assertThatThrownBy(() -> ours.send(HELLO, 0, 1, List.of())).hasMessageEndingWith("EPIPE");
  }

  @Test
  void aShutdownIsTheEndForBoth() throws KernelException {
    peer.send(HELLO, 0, HELLO.length, List.of());
    ours.shutdown();
    ours.shutdown();
    assertThat(peer.receive(scope, buffer).bytes()).isZero();
    assertThat(receive().bytes()).as("what came before").isEqualTo(HELLO.length);
    assertThat(receive().bytes()).isZero();
    assertThatThrownBy(() -> ours.send(HELLO, 0, 1, List.of())).hasMessageEndingWith("EPIPE");
  }

  @Test
  void sendingIntoAFullBufferWouldWait() throws KernelException {
    byte[] much = new byte[1 << 22];
    int n = ours.send(much, 0, much.length, List.of());
    while (n > 0) {
      n = ours.send(much, 0, much.length, List.of());
    }
    assertThat(n).isEqualTo(-1);
  }

  @Test
  void aPairForAClosedOwnerLeavesNoEndOpen() throws Exception {
    var closed = new Scope();
    closed.close();
    long before = FdTest.openDescriptors();
    assertThatThrownBy(() -> UnixSocket.pair(closed, scope)).hasMessage("scope is closed");
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
    assertThatThrownBy(() -> UnixSocket.pair(scope, closed)).hasMessage("scope is closed");
    scope.close();
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
  }

  // --- from a peer that is not to be trusted ---

  @Test
  void bytesAreReceivedUpToTheFirstDescriptorWhichStaysWhereItIs() throws Exception {
    assertThat(ours.receiveBytes(buffer)).isEqualTo(-1);
    peer.send(HELLO, 0, 2, List.of());
    assertThat(ours.receiveBytes(buffer)).isEqualTo(2);
    assertThat(new String(buffer, 0, 2, US_ASCII)).isEqualTo("he");
    peer.send(HELLO, 2, 3, List.of(Fd.memory(scope, "memory")));
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> ours.receiveBytes(buffer))
          .isInstanceOf(KernelException.class)
          .hasMessageContaining("EBADMSG");
    }
  }

  @Test
  void aLookAtDescriptorsTakesNone() throws Exception {
    Fd file = Fd.memory(scope, "memory");
    file.write("content");
    peer.send(HELLO, 0, HELLO.length, List.of(file));
    long before = FdTest.openDescriptors();
    for (int i = 0; i < 2; i++) {
      try (var brief = new Scope()) {
        Fd seen = ours.peekDescriptors(brief, buffer.length).getFirst();
        assertThat(seen.readAt(0, buffer, 0, buffer.length)).isEqualTo(7);
      }
    }
    assertThat(FdTest.openDescriptors()).isEqualTo(before);
    assertThat(receive().fds()).hasSize(1);
  }

  @Test
  void aLookAtACrowdOfDescriptorsSeesMoreThanOne() throws Exception {
    Fd file = Fd.memory(scope, "memory");
    peer.send(HELLO, 0, HELLO.length, Collections.nCopies(MOST_DESCRIPTORS, file));
    try (var brief = new Scope()) {
      assertThat(ours.peekDescriptors(brief, buffer.length)).hasSizeGreaterThan(1);
    }
    assertThat(receive().fds()).hasSize(MOST_DESCRIPTORS);
  }

  @Test
  void drainingReportsWhetherDescriptorsAreLeft() throws KernelException {
    peer.send(HELLO, 0, HELLO.length, List.of());
    assertThat(ours.drain()).isTrue();
    assertThatThrownBy(() -> peer.send(HELLO, 0, 1, List.of()))
        .isInstanceOf(KernelException.class)
        .hasMessageContaining("EPIPE");
  }

  @Test
  void aSocketWithDescriptorsInItCannotBeDrained() throws KernelException {
    peer.send(HELLO, 0, HELLO.length, List.of());
    peer.send(HELLO, 0, 1, List.of(Fd.memory(scope, "memory")));
    assertThat(ours.drain()).isFalse();
  }

  @Test
  void descriptorsAreRefusedWhereTheKernelCan() throws KernelException {
    if (ours.passDescriptors(false)) {
      assertThatThrownBy(() -> peer.send(HELLO, 0, 1, List.of(Fd.memory(scope, "memory"))))
          .isInstanceOf(KernelException.class)
          .hasMessageContaining("EPERM");
      assertThat(ours.passDescriptors(true)).isTrue();
    }
    peer.send(HELLO, 0, 1, List.of(Fd.memory(scope, "memory")));
    assertThat(receive().fds()).hasSize(1);
  }
}
