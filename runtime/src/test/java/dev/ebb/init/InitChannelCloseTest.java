package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class InitChannelCloseTest {
  private static final StartRequest SLEEP = TestRequest.of("sleep", "1000");

  private final List<String> heard = new ArrayList<>();

  private final class Listener implements ExecEvents {
    @Override
    public void started(int pidInside, int subreaper) {
      heard.add("started");
    }

    @Override
    public void refused(Step step, int errno) {
      heard.add("refused");
    }

    @Override
    public void buffered(byte[] stdout, byte[] stderr) {
      heard.add("buffered");
    }

    @Override
    public void needLog() {
      heard.add("needLog");
    }

    @Override
    public void output(long stdout, long stderr) {
      heard.add("output");
    }

    @Override
    public void listed(byte[] entries) {
      heard.add("listed");
    }

    @Override
    public void segment(Written written) {
      heard.add("segment");
    }

    @Override
    public void ended(Ended ended) {
      heard.add("ended");
    }

    @Override
    public void lost() {
      heard.add("lost");
    }

    @Override
    public void unknown() {
      heard.add("unknown");
    }
  }

  /** The other end stays open, so that no EOF arrives. */
  @Test
  void whenItIsClosedTheExecsThatHaveNotEndedAreLost() throws KernelException {
    try (var scope = new Scope()) {
      var poller = Poller.start(scope, "channel-poller");
      Scope box = Scope.in(scope);
      InitWire.Pair pair = InitWire.pair(box, scope, (_, close) -> close.run());
      var channel = InitChannel.open(box, poller, pair.ours(), new byte[Protocol.NONCE_SIZE]);
      channel.start(1, SLEEP, List.of(), new Listener());
      scope.release(box);
      assertThat(heard).containsExactly("lost");
    }
  }
}
