package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.testkit.LeakChecked;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Should a box ever speak for its init, the engine hangs up at the first word that makes no sense.
 */
@Tag("kernel")
@LeakChecked
@Timeout(30)
final class HostileInitKernelTest {
  private static final byte[] NONCE = new byte[Protocol.NONCE_SIZE];

  private final CountDownLatch lost = new CountDownLatch(1);
  private final Scope scope = new Scope();
  private Fd init;
  private InitChannel channel;

  @BeforeEach
  void connect() throws KernelException {
    Poller poller = Poller.start(scope, "test-poller");
    InitWire.Pair pair = InitWire.pair(scope, scope, (_, close) -> close.run());
    init = pair.peer();
    channel = InitChannel.open(scope, poller, pair.ours(), NONCE);
    channel.start(1, TestRequest.of("true"), List.of(), new Losing());
  }

  @AfterEach
  void disconnect() throws KernelException {
    scope.close();
  }

  private void say(int size, int type, int exec, int... body) throws KernelException {
    byte[] bytes = new byte[Protocol.HEADER_SIZE + 4 * body.length];
    var message = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    message.putInt(size).putShort((short) type).putShort((short) 0).putInt(exec).putInt(0);
    for (int word : body) {
      message.putInt(word);
    }
    assertThat(init.write(bytes, 0, bytes.length)).isEqualTo(bytes.length);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, Integer.MIN_VALUE, Protocol.MESSAGE_MAX + 1})
  void aSizeThatNoMessageHasEndsTheTalk(int size) throws KernelException, InterruptedException {
    say(size, Protocol.MESSAGE_OUTPUT, 1);
    assertHungUp();
  }

  @Test
  void anUnknownWordEndsTheTalk() throws KernelException, InterruptedException {
    say(0, 99, 1);
    assertHungUp();
  }

  @Test
  void aWordCutShortEndsTheTalk() throws KernelException, InterruptedException {
    say(4, Protocol.MESSAGE_ENDED, 1, 0);
    assertHungUp();
  }

  @Test
  void aStepThatNoStartHasEndsTheTalk() throws KernelException, InterruptedException {
    say(8, Protocol.MESSAGE_REFUSED, 1, 77, 0);
    assertHungUp();
  }

  @Test
  void aPidWithoutItsDescriptorEndsTheTalk() throws KernelException, InterruptedException {
    say(4, Protocol.MESSAGE_LAUNCHED, 0, 4711);
    assertHungUp();
  }

  @Test
  void aHelloWithoutTheNonceEndsTheTalk() throws KernelException, InterruptedException {
    say(20, Protocol.MESSAGE_HELLO, 0, Protocol.PROTOCOL_VERSION, 1, 2, 3, 4);
    assertHungUp();
    assertThat(channel.awaitHello(Deadline.in(Duration.ZERO))).isEmpty();
  }

  /** The control: a valid message about an unknown exec ends nothing. */
  @Test
  void aWordAboutAnotherExecIsIgnored() throws KernelException, InterruptedException {
    say(16, Protocol.MESSAGE_OUTPUT, 2, 1, 0, 1, 0);
    say(8, Protocol.MESSAGE_STARTED, 1, 7, 0);
    assertThat(lost.await(200, TimeUnit.MILLISECONDS)).isFalse();
  }

  private void assertHungUp() throws InterruptedException {
    assertThat(lost.await(10, TimeUnit.SECONDS)).as("the exec is lost").isTrue();
  }

  private final class Losing implements ExecEvents {
    @Override
    public void started(int pidInside, int subreaper) {}

    @Override
    public void refused(Step step, int errno) {}

    @Override
    public void buffered(byte[] stdout, byte[] stderr) {}

    @Override
    public void needLog() {}

    @Override
    public void output(long stdout, long stderr) {}

    @Override
    public void segment(Written written) {}

    @Override
    public void listed(byte[] entries) {}

    @Override
    public void ended(Ended ended) {}

    @Override
    public void lost() {
      lost.countDown();
    }

    @Override
    public void unknown() {
      lost.countDown();
    }
  }
}
