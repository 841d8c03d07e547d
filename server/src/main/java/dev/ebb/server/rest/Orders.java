package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.CommandTask;
import dev.ebb.server.service.access.Caps;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Boxes and commands as requests order them. */
final class Orders {
  private static final int MOST_PLACES = 256;

  private Orders() {}

  // --- boxes ---

  /** A box, and what is to be written into it. */
  record Ordered(BoxOrder order, List<NewFile> files) {}

  static Ordered box(Fields fields, Caps caps) {
    var files = fields.objects("files").stream().map(Orders::file).toList();
    var order =
        new BoxOrder(
            fields.text("name"),
            fields.textMap("labels"),
            spec(fields, caps),
            OrderFields.ttl(fields, caps),
            fields.millis("idleTimeoutMillis"),
            fields.flag("detached"),
            false);
    fields.end();
    return new Ordered(order, files);
  }

  static NewFile file(Fields fields) {
    String path = required(fields.text("path"), "files[].path");
    byte[] bytes =
        fields
            .bytes("content")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "files[].content is missing"));
    fields.end();
    return new NewFile(path, bytes);
  }

  private static BoxSpec spec(Fields fields, Caps caps) {
    Fields limits = fields.object("limits").orElseGet(Fields::none);
    var spec = BoxSpec.defaults().withLimits(OrderFields.limits(limits, caps));
    limits.end();
    spec = spec.withNetwork(network(fields).orElse(Network.NONE));
    List<Mount> mounts =
        fewer(fields.objects("mounts"), "mounts").stream().map(Orders::mount).toList();
    List<Path> packages =
        fewer(fields.texts("packages"), "packages").stream()
            .map(text -> hostPath(text, "packages"))
            .toList();
    Optional<String> backend = fields.text("backend");
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
  static Optional<Network> network(Fields fields) {
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
    Path source = hostPath(required(fields.text("source"), "mounts[].source"), "mounts[].source");
    String target = required(fields.text("target"), "mounts[].target");
    boolean readOnly = fields.flag("readOnly");
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

  private static String required(Optional<String> text, String where) {
    return text.orElseThrow(
        () -> new Problem(Problem.Code.BAD_REQUEST, "\"" + where + "\" is missing"));
  }

  // --- commands ---

  private static ExecSpec terminal(ExecSpec spec, Optional<Fields> given) {
    if (given.isEmpty()) {
      return spec;
    }
    Fields size = given.get();
    var rows = size.number("rows", 1, ExecKind.Terminal.SIDE_MAX);
    var columns = size.number("columns", 1, ExecKind.Terminal.SIDE_MAX);
    size.end();
    return spec.withTerminal((int) rows.orElse(24), (int) columns.orElse(80));
  }

  /** One with a terminal is for a person, whom no default cuts short. */
  static CommandTask command(Fields fields, Duration defaultTimeout, Caps caps) {
    var input = fields.bytes("input");
    boolean stdin = fields.flag("stdin");
    if (stdin && input.isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"stdin\" and \"input\" are two ways to say one thing");
    }
    var size = fields.object("terminal");
    var spec =
        limits(fields, size.isPresent() ? Duration.ZERO : defaultTimeout, caps)
            .withEnvironment(fields.textMap("environment"));
    var workdir = fields.text("workdir");
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    spec = fields.flag("keep") ? spec.withKeep() : spec;
    spec = stdin || input.isPresent() ? spec.withInput() : spec;
    spec = terminal(spec, size);
    spec = fields.flag("operator") ? spec.withOperator() : spec;
    fields.end();
    return new CommandTask(spec, input);
  }

  /** Between the polite and the other signal; a command has no more time after its time. */
  static Duration grace(Fields fields, Caps caps) {
    long most = caps.timeout().isZero() ? Long.MAX_VALUE : caps.timeout().toMillis();
    long otherwise = ExecSpec.DEFAULT_GRACE.toMillis();
    return Duration.ofMillis(
        fields.limit("graceMillis", 0, Fields.LONGEST_MILLIS, otherwise, most));
  }

  private static ExecSpec limits(Fields fields, Duration defaultTimeout, Caps caps) {
    Duration grace = grace(fields, caps);
    long output =
        fields.limit(
            "outputLimitBytes",
            0,
            Long.MAX_VALUE,
            ExecSpec.DEFAULT_OUTPUT_LIMIT.bytes(),
            caps.output().bytes());
    long openFiles =
        fields.limit("openFiles", 3, Caps.ANY_FILES, ExecSpec.DEFAULT_OPEN_FILES, caps.openFiles());
    long fileSize =
        fields.limit(
            "fileSizeBytes",
            0,
            Long.MAX_VALUE,
            ExecSpec.DEFAULT_FILE_SIZE.bytes(),
            caps.fileSize().bytes());
    return ExecSpec.of(fields.texts("command"))
        .withTimeout(fields.limit("timeoutMillis", defaultTimeout, caps.timeout()))
        .withGrace(grace)
        .withOutputLimit(new ByteSize(output))
        .withOpenFiles((int) openFiles)
        .withFileSize(new ByteSize(fileSize));
  }
}
