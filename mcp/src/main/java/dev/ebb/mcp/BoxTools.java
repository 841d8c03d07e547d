package dev.ebb.mcp;

import dev.ebb.model.Certificate;
import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.Fields;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.TenantBox;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** Tools for boxes beside the session's own box. */
final class BoxTools {
  private static final long LONG = Long.MAX_VALUE >> 10;

  private final Workplace workplace;

  BoxTools(Workplace workplace) {
    this.workplace = workplace;
  }

  List<Tool> all() {
    return List.of(
        new Tool(
            "create_box",
            "Create a box",
            """
            Makes a further, empty box, for work that must be kept apart or needs other limits, and \
            returns its id. It goes with this session, or earlier by remove_box or ttlMillis. Your \
            own box needs no create_box.\
            """,
            Schema.object()
                .has("name", Schema.text("letters, digits, _ . and -; can stand for the id"))
                .has("memoryBytes", Schema.whole("most memory; default 536870912", 1, LONG))
                .has("pids", Schema.whole("most processes and threads; default 128", 1, 1 << 22))
                .has("cpus", Schema.number("most processors; default all"))
                .has("diskBytes", Schema.whole("size of /workspace; default 268435456", 1, LONG))
                .has(
                    "allow",
                    Schema.texts(
                        "names it may reach by HTTP and HTTPS, as example.org or"
                            + " *.example.org:8443, if the server allows them; default none"))
                .has("ttlMillis", Schema.whole("how long it may live; default no limit", 1, LONG))
                .build(),
            Schema.of(BOX),
            Tool.Hint.ADDS,
            this::create),
        new Tool(
            "list_boxes",
            "List boxes",
            """
            Lists the boxes you can use: those of this session, and others of the same user, which \
            you may work in but not remove.\
            """,
            Schema.object().build(),
            Schema.of(BOXES),
            Tool.Hint.READS,
            this::list),
        new Tool(
            "remove_box",
            "Remove a box",
            """
            Ends a box of this session with everything in it, and returns the proof that nothing is \
            left. If it is your own box, the next call that needs one gets a new, empty one. \
            Removing what was removed already is fine.\
            """,
            Schema.object()
                .needs("box", Schema.text("its id or name, from create_box or list_boxes"))
                .has("wait", Schema.flag("false returns at once, without the proof; default true"))
                .build(),
            Schema.of(BoxAnswers.REMOVED),
            Tool.Hint.REPLACES,
            this::remove));
  }

  /** A box as a session sees it. */
  private record Seen(TenantBox box, boolean isOwn) {
    static Seen by(Call call, TenantBox box) {
      return new Seen(box, call.session().owns(box));
    }
  }

  /** Members of the answer of REST, and whether it is the session's own box. */
  private static final ObjectSchema<Seen> BOX =
      ObjectSchema.<Seen>inline()
          .includes(
              BoxAnswers.BOX.only("id", "name", "state", "createdAt", "runningExecs"), Seen::box)
          .has(
              "ofThisSession",
              Values.FLAG.described("whether it goes with this session"),
              Seen::isOwn);

  private static final ObjectSchema<List<Seen>> BOXES =
      ObjectSchema.<List<Seen>>inline()
          .has("boxes", Values.list(BOX).described("the oldest first"), boxes -> boxes);

  private Reply create(Call call, Fields arguments) throws IOException, InterruptedException {
    for (String name : List.of("memoryBytes", "pids", "diskBytes", "ttlMillis")) {
      arguments.number(name, 1, LONG);
    }
    var wanted = Workplace.Wanted.of(arguments, workplace.caps());
    arguments.end();
    Session session = call.session();
    TenantBox box = session.make(call, workplace.order(session, wanted));
    return new Reply("made box " + box.id(), BOX.write(Seen.by(call, box)));
  }

  private Reply list(Call call, Fields arguments) {
    arguments.end();
    List<TenantBox> boxes =
        workplace.boxes().list(call.session().agent()).stream()
            .filter(box -> box.state().isAlive())
            .toList();
    String text =
        boxes.isEmpty()
            ? "no box yet; yours is made when you first use it"
            : boxes.stream().map(box -> line(call, box)).collect(Collectors.joining("\n"));
    return new Reply(text, BOXES.write(boxes.stream().map(box -> Seen.by(call, box)).toList()));
  }

  private static String line(Call call, TenantBox box) {
    return "%s%s %s, %d processes%s"
        .formatted(
            box.id(),
            box.order().name().map(name -> " (" + name + ")").orElse(""),
            box.state().wireName(),
            box.running(),
            call.session().owns(box) ? ", of this session" : "");
  }

  private Reply remove(Call call, Fields arguments) throws InterruptedException {
    String word = Workplace.required(arguments, "box");
    boolean wait = arguments.flag("wait", true);
    arguments.end();
    BoxRegistry.Removal removal = call.session().remove(word, wait);
    String text =
        removal
            .certificate()
            .map(Certificate::toString)
            .orElse("box " + removal.id() + " is being removed");
    return new Reply(text, BoxAnswers.REMOVED.write(removal));
  }
}
