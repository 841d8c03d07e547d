package dev.ebb.server.rest;

import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Patience;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.function.Supplier;

/** An answer that may take long: white space before it shows that a client is still there. */
final class LateAnswer {
  private LateAnswer() {}

  /** Waits for something, but no longer than {@code patience}; returns whether it has come. */
  interface Wait {
    boolean await(Duration patience) throws InterruptedException;
  }

  /** Answers when {@code wait} has ended, or when the patience of the caller is over. */
  static void await(
      Exchange exchange, Patience left, Wait wait, Supplier<Map<String, Object>> document)
      throws IOException, InterruptedException {
    if (wait.await(slice(left)) || left.isOver()) {
      exchange.answer(200, document.get());
      return;
    }
    try (OutputStream out = exchange.stream(200, "application/json")) {
      do {
        out.write('\n');
        out.flush();
      } while (!wait.await(slice(left)) && !left.isOver());
      out.write(Exchange.json(document.get()));
    }
  }

  private static Duration slice(Patience left) {
    return EventStream.HEARTBEAT.compareTo(left.left()) < 0 ? EventStream.HEARTBEAT : left.left();
  }
}
