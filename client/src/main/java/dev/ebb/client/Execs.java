package dev.ebb.client;

import dev.ebb.client.http.Body;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The commands of one box, by their numbers. */
public final class Execs {
  private static final String BYTES = "application/octet-stream";

  private final Calls calls;
  private final String box;

  Execs(Calls calls, String box) {
    this.calls = calls;
    this.box = box;
  }

  private Target target(String... segments) {
    var all = new ArrayList<>(List.of("v1", "boxes", box, "execs"));
    all.addAll(List.of(segments));
    return Target.of(all.toArray(String[]::new));
  }

  private Target target(long number, String... segments) {
    var all = new ArrayList<>(List.of(Long.toString(number)));
    all.addAll(List.of(segments));
    return target(all.toArray(String[]::new));
  }

  /** Starts a command in the background. */
  public Exec start(ExecRequest request) throws IOException {
    return Exec.read(calls.json(Calls.post(target(), request.document())));
  }

  /** Runs a command and waits for its end; a caller that disconnects ends it. */
  public Result run(ExecRequest request) throws IOException {
    Target target = target().with("wait", true);
    return Result.read(calls.json(Calls.post(target, request.document()).with(Duration.ZERO)));
  }

  /** Starts a command and follows its output; closing it early ends the command. */
  public Following runAndFollow(ExecRequest request) throws IOException {
    Target target = target().with("wait", true);
    return new Following(
        EventSource.once(calls.events(Calls.post(target, request.document()))), Offsets.START);
  }

  /** Lists the running commands, and the last that ended. */
  public List<Exec> list() throws IOException {
    return Documents.list(calls.json(Calls.get(target())).objects("execs"), Exec::read);
  }

  public Exec inspect(long number) throws IOException {
    return Exec.read(calls.json(Calls.get(target(number))));
  }

  /** Waits for the end of a command, without a time limit. */
  public Exec await(long number) throws IOException {
    Request wait = Calls.get(target(number, "wait")).with(Duration.ZERO);
    Exec exec = Exec.read(calls.json(wait));
    while (!exec.hasEnded()) {
      exec = Exec.read(calls.json(wait));
    }
    return exec;
  }

  /** Waits for the end of a command, or until the timeout: see {@link Exec#hasEnded}. */
  public Exec await(long number, Duration timeout) throws IOException {
    Target target = target(number, "wait").with("timeoutMillis", timeout.toMillis());
    return Exec.read(calls.json(Calls.get(target).with(Calls.patience(timeout))));
  }

  /** Ends a command by the ladder (SIGTERM, grace period, SIGKILL), and waits for it. */
  public Exec kill(long number, Duration grace) throws IOException {
    Request request = Calls.post(killing(number, grace).with("wait", true));
    return Exec.read(calls.json(request.with(Calls.patience(grace))));
  }

  /** Begins to end a command by the ladder, and does not wait. */
  public Exec beginKill(long number, Duration grace) throws IOException {
    return Exec.read(calls.json(Calls.post(killing(number, grace).with("wait", false))));
  }

  private Target killing(long number, Duration grace) {
    return target(number, "kill").with("signal", "TERM").with("graceMillis", grace.toMillis());
  }

  /**
   * Sends a signal to a command, and nothing after it.
   *
   * @param signal as kill(1) names it, without SIG
   */
  public Exec signal(long number, String signal) throws IOException {
    return Exec.read(calls.json(Calls.post(target(number, "kill").with("signal", signal))));
  }

  /** Writes to the stdin of a command; returns when all was taken, without a time limit. */
  public void feed(long number, byte[] bytes) throws IOException {
    feed(number, Body.of(BYTES, bytes), false);
  }

  /**
   * Writes everything that {@code in} holds to the stdin of a command, piece by piece, and closes
   * it.
   */
  public void feedAll(long number, InputStream in) throws IOException {
    feed(number, Body.of(BYTES, in), true);
  }

  public void closeStdin(long number) throws IOException {
    feed(number, Body.NONE, true);
  }

  private void feed(long number, Body body, boolean close) throws IOException {
    Target target = target(number, "stdin").with("close", close);
    calls.done(Calls.post(target).with(body).with(Duration.ZERO));
  }

  /** Opens the current content of a stream, from an offset on. */
  public InputStream output(long number, OutputStreamName stream, long offset) throws IOException {
    Target target =
        target(number, "output").with("stream", stream.wireName()).with("offset", offset);
    return calls.send(Calls.get(target)).body();
  }

  /**
   * Follows both streams as they are written, until the end; reconnects by itself after a broken
   * connection.
   */
  public Following follow(long number, Offsets from) throws IOException {
    Request request = Calls.get(target(number, "output").with("follow", true));
    String last = from.equals(Offsets.START) ? "" : from.toString();
    return new Following(
        EventSource.resuming(
            id -> calls.events(id.isEmpty() ? request : request.with("Last-Event-ID", id)), last),
        from);
  }

  /** Attaches to the terminal of a command that has one. */
  public TerminalSession terminal(long number) throws IOException {
    return new TerminalSession(calls.webSocket(Calls.get(target(number, "terminal"))));
  }

  /** Connects to a terminal for keys and sizes only, without its output. */
  public TerminalSession keyboard(long number) throws IOException {
    Target target = target(number, "terminal").with("output", false);
    return new TerminalSession(calls.webSocket(Calls.get(target)));
  }
}
