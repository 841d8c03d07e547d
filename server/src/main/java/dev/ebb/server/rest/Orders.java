package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.access.Caps;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Requests to make boxes. */
final class Orders {
  private static final int MOST_PLACES = 256;

  private Orders() {}

  private static final Field<String> FILE_PATH = Field.requiredText("path");
  private static final Field<byte[]> FILE_CONTENT = Field.requiredBytes("content");

  /** A file to write before anything runs. */
  private static final RequestSchema FILE =
      RequestSchema.named("FileRequest", FILE_PATH, FILE_CONTENT);

  static final Field<List<Fields>> FILES = Field.objects("files", FILE);

  private static final Field<String> SOURCE =
      Field.requiredText("source").described("absolute path on the host");
  private static final Field<String> TARGET =
      Field.requiredText("target").described("absolute path in the box");
  private static final Field<Boolean> READ_ONLY = Field.flag("readOnly", false);

  private static final Field<Optional<String>> NAME =
      Field.text("name").with("pattern", "^" + BoxOrder.NAME.pattern() + "$");
  private static final Field<Map<String, String>> LABELS = Field.textMap("labels");
  private static final Field<Optional<Duration>> IDLE = Field.millis("idleTimeoutMillis");
  private static final Field<Fields> LIMITS = Field.part("limits", OrderFields.LIMITS);
  private static final Field<List<Fields>> MOUNTS =
      Field.objects("mounts", RequestSchema.named("MountRequest", SOURCE, TARGET, READ_ONLY))
          .with("maxItems", MOST_PLACES);
  private static final Field<List<String>> PACKAGES =
      Field.texts("packages").with("maxItems", MOST_PLACES);
  private static final Field<Optional<String>> BACKEND =
      Field.text("backend")
          .described(
              "makes the box, or it is not made; unknown: 400 with the known ones; default: one that"
                  + " can");
  private static final Field<Boolean> DETACHED =
      Field.flag("detached", false).described("It outlives the daemon, and the next one finds it.");

  static final Field<Optional<Network>> NETWORK =
      Field.of("network", BoxAnswers.NETWORK, (fields, _) -> network(fields));

  static final RequestSchema BOX =
      RequestSchema.named(
          "BoxRequest",
          NAME,
          LABELS,
          OrderFields.TTL,
          IDLE,
          LIMITS,
          NETWORK,
          MOUNTS,
          PACKAGES,
          FILES,
          BACKEND,
          DETACHED);

  /** A box, and the files to write into it. */
  record Ordered(BoxOrder order, List<NewFile> files) {}

  static Ordered box(Fields fields, Caps caps) {
    var files = fields.get(FILES).stream().map(Orders::file).toList();
    var order =
        new BoxOrder(
            fields.get(NAME),
            fields.get(LABELS),
            spec(fields, caps),
            OrderFields.ttl(fields, caps),
            fields.get(IDLE),
            fields.get(DETACHED),
            false);
    fields.end();
    return new Ordered(order, files);
  }

  static NewFile file(Fields fields) {
    var file = new NewFile(fields.get(FILE_PATH), fields.get(FILE_CONTENT));
    fields.end();
    return file;
  }

  private static BoxSpec spec(Fields fields, Caps caps) {
    Fields limits = fields.get(LIMITS);
    var spec = BoxSpec.defaults().withLimits(OrderFields.limits(limits, caps));
    limits.end();
    spec = spec.withNetwork(fields.get(NETWORK).orElse(Network.NONE));
    List<Mount> mounts = fewer(fields.get(MOUNTS), "mounts").stream().map(Orders::mount).toList();
    List<Path> packages =
        fewer(fields.get(PACKAGES), "packages").stream()
            .map(text -> hostPath(text, "packages"))
            .toList();
    Optional<String> backend = fields.get(BACKEND);
    spec = backend.isPresent() ? spec.withBackend(backend.get()) : spec;
    return spec.asking(mounts, packages);
  }

  /** SAFETY: each is compared with all before it. */
  private static <T> List<T> fewer(List<T> all, String where) {
    if (all.size() > MOST_PLACES) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"" + where + "\" has more than " + MOST_PLACES + " entries");
    }
    return all;
  }

  /** {@code "none"}, {@code "host"} or {@code {"allow": […]}}. */
  private static Optional<Network> network(Fields fields) {
    Optional<Fields> object = fields.objectOrElse("network");
    if (object.isPresent()) {
      List<String> rules = object.get().texts("allow");
      object.get().end();
      return Optional.of(OrderFields.allow(rules));
    }
    return fields.text("network").map(Orders::network);
  }

  private static Network network(String word) {
    return switch (word) {
      case "none" -> Network.NONE;
      case "host" -> Network.HOST;
      default ->
          throw new Problem(
              Problem.Code.BAD_REQUEST,
              "\"network\" must be \"none\", \"host\" or {\"allow\": [names]}");
    };
  }

  private static Mount mount(Fields fields) {
    Path source = hostPath(fields.get(SOURCE), "mounts[].source");
    String target = fields.get(TARGET);
    boolean readOnly = fields.get(READ_ONLY);
    fields.end();
    return new Mount(source, target, readOnly);
  }

  private static Path hostPath(String text, String where) {
    try {
      Path path = Path.of(text);
      if (path.isAbsolute()) {
        return path;
      }
    } catch (InvalidPathException e) {
      // Below.
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "\"" + where + "\" must be an absolute path");
  }
}
