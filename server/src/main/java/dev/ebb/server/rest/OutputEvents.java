package dev.ebb.server.rest;

import dev.ebb.code.Cell;
import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Segment;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Output;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.OutputReading;
import dev.ebb.server.service.TenantExec;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongFunction;

/** The output of a command as server-sent events, from its start to its end. */
final class OutputEvents {
  private static final Duration HEARTBEAT = EventStream.HEARTBEAT;
  private static final int CHUNK = 64 * 1024;

  private final EventStream events;
  private OutputLoss unread = OutputLoss.NONE;

  OutputEvents(Exchange exchange) throws IOException {
    events = new EventStream(exchange);
  }

  void send(String event, String id, Object data) throws IOException {
    events.send(event, id, data);
  }

  void beat() throws IOException {
    events.beat();
  }

  /** The position up to which each stream was sent. */
  record Position(long stdout, long stderr) {
    static final Position START = new Position(0, 0);

    /** Formats it as the id of an event. */
    static Position parse(String id) {
      String[] words = id.strip().split(":");
      try {
        var position =
            words.length == 2
                ? new Position(Long.parseLong(words[0]), Long.parseLong(words[1]))
                : new Position(-1, -1);
        if (position.stdout >= 0 && position.stderr >= 0) {
          return position;
        }
      } catch (NumberFormatException e) {
        // Below.
      }
      throw new Problem(
          Problem.Code.BAD_REQUEST, "Last-Event-ID must be <stdout offset>:<stderr offset>");
    }

    @Override
    public String toString() {
      return stdout + ":" + stderr;
    }
  }

  /** Sends the command whose output follows. */
  void start(Map<String, Object> document) throws IOException {
    send("start", Position.START.toString(), document);
  }

  /**
   * Sends the output of a command from {@code from} on, until its end. The output stays readable
   * meanwhile, unless its box is removed.
   */
  Position follow(TenantExec exec, Position from) throws IOException, InterruptedException {
    var at = new AtomicReference<>(from);
    exec.read(() -> at.set(followHeld(exec, from)));
    return at.get();
  }

  private Position followHeld(TenantExec exec, Position from)
      throws IOException, InterruptedException {
    Position at = from;
    while (exec.view().awaitOutput(at.stdout, at.stderr, HEARTBEAT)) {
      Position before = at;
      at = send(exec.view().segment(), at);
      if (at.equals(before)) {
        beat();
      }
    }
    while (exec.await(HEARTBEAT).isEmpty()) {
      beat();
    }
    return at;
  }

  /** Sends what a cell writes and shows until its end. */
  Position follow(Cell cell) throws IOException, InterruptedException {
    Position at = Position.START;
    int shown = 0;
    while (true) {
      boolean hasEnded = cell.result().isPresent();
      Position before = at;
      int shownBefore = shown;
      if (cell.segment().isPresent()) {
        at = send(cell.segment().get(), at);
      }
      for (Cell.Shown each : cell.shown(shown)) {
        shown++;
        send(each.isResult() ? "result" : "display", at.toString(), CodeAnswers.forms(each));
      }
      if (!at.equals(before) || shown > shownBefore) {
        continue;
      }
      if (hasEnded) {
        return at;
      }
      beat();
      cell.awaitNews(at.stdout(), at.stderr(), shown, HEARTBEAT);
    }
  }

  /** Sends some output after {@code from}, if there is any. */
  Position send(Segment segment, Position from) throws IOException {
    long stdout =
        send("stdout", segment.stdout(), from.stdout, at -> new Position(at, from.stderr));
    long stderr = send("stderr", segment.stderr(), from.stderr, at -> new Position(stdout, at));
    return new Position(stdout, stderr);
  }

  /** Returns the new position. Output that cannot be read is reported as lost, and skipped. */
  private long send(String stream, OutputLog log, long from, LongFunction<Position> position)
      throws IOException {
    try {
      byte[] bytes = next(log, from);
      long at = from + bytes.length;
      if (bytes.length > 0) {
        send(stream, position.apply(at).toString(), new Output(bytes));
      }
      return at;
    } catch (SandboxException e) {
      long at = log.size();
      int errno = OutputReading.errno(e);
      boolean isStdout = stream.equals("stdout");
      unread =
          unread.plus(new OutputLoss(isStdout ? at - from : 0, isStdout ? 0 : at - from, errno));
      send(
          "lost",
          position.apply(at).toString(),
          Map.of("stream", stream, "offset", from, "bytes", at - from, "reason", unread.reason()));
      return at;
    }
  }

  /** Returns how many stored bytes could not be read. */
  OutputLoss unread() {
    return unread;
  }

  void end(Position at, Map<String, Object> document) throws IOException {
    send("end", at.toString(), document);
  }

  /** Returns some available output, split between characters where possible. */
  private static byte[] next(OutputLog log, long offset) {
    byte[] bytes = new byte[(int) Math.min(CHUNK, Math.max(0, log.size() - offset))];
    int n = log.read(offset, bytes);
    int end = log.isEnd(offset + n) ? n : wholeCharacters(bytes, n);
    return Arrays.copyOf(bytes, end == 0 ? n : end);
  }

  /** Returns the number of bytes without a character that is incomplete at the end. */
  private static int wholeCharacters(byte[] bytes, int n) {
    for (int back = 1; back <= Math.min(3, n); back++) {
      int b = bytes[n - back] & 0xff;
      if (b < 0x80) {
        return n;
      }
      if (b >= 0xc0) {
        int length = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
        return length > back ? n - back : n;
      }
    }
    return n;
  }
}
