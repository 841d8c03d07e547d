package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
final class AcceptBoundTest {
  private static final Duration LONG = Duration.ofSeconds(10);

  private static Thread accept(AcceptBound bound, SocketChannel channel, CountDownLatch passed) {
    return Thread.ofVirtual()
        .start(
            () -> {
              bound.onAccepting(channel);
              passed.countDown();
            });
  }

  @Test
  void theAcceptorWaitsUntilOneIsOpen() throws Exception {
    var bound = new AcceptBound(2, LONG);
    try (var channel = SocketChannel.open()) {
      bound.onAccepting(channel);
      bound.onAccepting(channel);
      var passed = new CountDownLatch(1);
      Thread acceptor = accept(bound, channel, passed);
      while (acceptor.getState() != Thread.State.TIMED_WAITING) {
        Thread.onSpinWait();
      }
      assertThat(passed.getCount()).as("one beyond the bound").isEqualTo(1);
      bound.onAccepted(channel);
      assertThat(passed.await(5, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aFailedOneMakesRoom() throws IOException {
    var bound = new AcceptBound(1, LONG);
    try (var channel = SocketChannel.open()) {
      for (int i = 0; i < 100; i++) {
        bound.onAccepting(channel);
        bound.onAcceptFailed(channel, new IOException("closed"));
      }
    }
  }

  @Test
  void aConnectionWithoutAPermitReleasesNone() throws Exception {
    var bound = new AcceptBound(1, Duration.ofMillis(1));
    try (var channel = SocketChannel.open()) {
      for (int i = 0; i < 3; i++) {
        bound.onAccepting(channel);
      }
      for (int i = 0; i < 3; i++) {
        bound.onAccepted(channel);
      }
      assertThat(bound.permits()).isEqualTo(1);
    }
  }

  @Test
  void anInterruptedAcceptorEnds() throws Exception {
    var bound = new AcceptBound(1, LONG);
    try (var channel = SocketChannel.open()) {
      bound.onAccepting(channel);
      var passed = new CountDownLatch(1);
      accept(bound, channel, passed).interrupt();
      assertThat(passed.await(5, TimeUnit.SECONDS)).isTrue();
    }
  }
}
