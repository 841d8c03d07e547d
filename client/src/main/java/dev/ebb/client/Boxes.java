package dev.ebb.client;

import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.net.ProtocolException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The boxes of a daemon; methods take the id or the name of a box. */
public final class Boxes {
  private final Calls calls;

  Boxes(Calls calls) {
    this.calls = calls;
  }

  private static Target target(String... segments) {
    var all = new ArrayList<>(List.of("v1", "boxes"));
    all.addAll(List.of(segments));
    return Target.of(all.toArray(String[]::new));
  }

  public Box create(BoxRequest request) throws IOException {
    return Box.read(calls.json(Calls.post(target(), request.document())));
  }

  /** Creates a box once: a repeated request with the key returns the box of the first. */
  public Box create(BoxRequest request, String idempotencyKey) throws IOException {
    Request call = Calls.post(target(), request.document());
    return Box.read(calls.json(call.with("Idempotency-Key", idempotencyKey)));
  }

  /** Lists the boxes that match, oldest first. */
  public List<Box> list(BoxQuery query) throws IOException {
    Target target = target();
    for (String label : query.labels()) {
      target = target.with("label", label);
    }
    BoxState state = query.state();
    target = state == null ? target : target.with("state", state.wireName());
    String name = query.name();
    return pages(name == null ? target : target.with("name", name));
  }

  private List<Box> pages(Target target) throws IOException {
    var boxes = new ArrayList<Box>();
    String after = null;
    do {
      Target page = after == null ? target : target.with("after", after);
      JsonObject answer = calls.json(Calls.get(page));
      boxes.addAll(Documents.list(answer.objects("boxes"), Box::read));
      after = next(after, answer);
    } while (after != null);
    return boxes;
  }

  private static @Nullable String next(@Nullable String before, JsonObject answer)
      throws IOException {
    String next = answer.stringOrNull("next");
    if (next != null && (next.equals(before) || answer.objects("boxes").isEmpty())) {
      throw new ProtocolException("the list of boxes does not continue after " + next);
    }
    return next;
  }

  /** Describes a box and what it holds. */
  public Box inspect(String box) throws IOException {
    return Box.read(calls.json(Calls.get(target(box))));
  }

  public Box pause(String box) throws IOException {
    return Box.read(calls.json(Calls.post(target(box, "pause"))));
  }

  public Box resume(String box) throws IOException {
    return Box.read(calls.json(Calls.post(target(box, "resume"))));
  }

  /**
   * Changes what the box may reach; cuts connections that are no longer allowed.
   *
   * @param network {@code none}, or {@code allow=} and names separated by commas
   */
  public Box changeNetwork(String box, String network) throws IOException {
    JsonObject body = JsonObject.empty().with("network", Documents.network(network));
    return Box.read(calls.json(Calls.put(target(box, "network"), body)));
  }

  /**
   * Ends the commands of a box by the ladder, then the box; the box returned has its certificate.
   */
  public Box stop(String box, Duration grace) throws IOException {
    Target target = target(box, "stop").with("graceMillis", grace.toMillis());
    return Box.read(calls.json(Calls.post(target).with(Calls.patience(grace))));
  }

  /** Begins to stop a box, see {@link #stop}, and does not wait. */
  public Box beginStop(String box, Duration grace) throws IOException {
    Target target = target(box, "stop").with("graceMillis", grace.toMillis()).with("wait", false);
    return Box.read(calls.json(Calls.post(target)));
  }

  /**
   * Removes the record of a box that is gone. Repeating the call returns the certificate again, as
   * long as the daemon remembers the box.
   *
   * @param force whether to end a box that still runs
   */
  public Certificate remove(String box, boolean force) throws IOException {
    Target target = force ? target(box).with("force", true) : target(box);
    JsonObject answer = calls.json(Request.of("DELETE", target).with(Calls.patience(PATIENCE)));
    return Certificate.read(answer.object("certificate"));
  }

  /**
   * Begins to end and to remove a box, and does not wait.
   *
   * @return the id of the box
   */
  public String beginRemove(String box) throws IOException {
    Target target = target(box).with("force", true).with("wait", false);
    return calls.json(Request.of("DELETE", target)).string("id");
  }

  /** How long to wait for a kill ladder with the daemon's default grace period. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Ends all commands of a box at once by the ladder, and waits for it. */
  public List<Exec> killAll(String box, Duration grace) throws IOException {
    return killAll(Calls.post(killing(box, grace).with("wait", true)).with(Calls.patience(grace)));
  }

  /** Begins to end all commands of a box by the ladder, and does not wait. */
  public List<Exec> beginKillAll(String box, Duration grace) throws IOException {
    return killAll(Calls.post(killing(box, grace).with("wait", false)));
  }

  private static Target killing(String box, Duration grace) {
    return target(box, "kill-all").with("graceMillis", grace.toMillis());
  }

  private List<Exec> killAll(Request request) throws IOException {
    return Documents.list(calls.json(request).objects("execs"), Exec::read);
  }
}
