package dev.ebb.server.rest;

import dev.ebb.backend.ExecKind;
import dev.ebb.backend.Mount;
import dev.ebb.backend.Network;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.Limits;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.code.Runner;
import dev.ebb.exec.ExecSpec;
import dev.ebb.server.access.Caps;
import dev.ebb.server.boxes.BoxOrder;
import dev.ebb.server.boxes.NewFile;
import dev.ebb.server.boxes.ServedContext;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Boxes and commands as requests order them. */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public final class Orders {
  private static final Pattern NAME =
      Pattern.compile("(?!c[0-9]+$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}");

  private static final int MOST_PLACES = 256;

  private Orders() {}

  // --- boxes ---

  /** A box, and what is to be written into it. */
  public record Ordered(BoxOrder order, List<NewFile> files) {}

  public static Ordered box(Fields fields, Caps caps) {
    var files = fields.objects("files").stream().map(Orders::file).toList();
    var order =
        new BoxOrder(
            fields.text("name"),
            fields.textMap("labels"),
            spec(fields, caps),
            ttl(fields, caps),
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
    var limits = limits(fields.object("limits").orElseGet(Fields::none), caps);
    var spec = BoxSpec.defaults().withLimits(limits);
    spec = spec.withNetwork(network(fields).orElse(Network.NONE));
    List<Mount> mounts =
        fewer(fields.objects("mounts"), "mounts").stream().map(Orders::mount).toList();
    List<Path> packages =
        fewer(fields.texts("packages"), "packages").stream()
            .map(text -> hostPath(text, "packages"))
            .toList();
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

  private static Limits limits(Fields fields, Caps caps) {
    var otherwise = Limits.defaults();
    long memory =
        fields.limit(
            "memoryBytes", 1, Long.MAX_VALUE, otherwise.memory().bytes(), caps.memory().bytes());
    long pids = fields.limit("pids", 1, Caps.ANY_PIDS, otherwise.pids(), caps.pids());
    long disk =
        fields.limit("diskBytes", 1, Long.MAX_VALUE, otherwise.disk().bytes(), caps.disk().bytes());
    double cpus = fields.limit("cpus", Caps.ANY_CPUS, otherwise.cpus(), caps.cpus());
    fields.end();
    return new Limits(
        new ByteSize(memory), (int) pids, cpus, new ByteSize(disk), otherwise.temporary());
  }

  /** One of zero is refused with the order. */
  private static Optional<Duration> ttl(Fields fields, Caps caps) {
    Optional<Duration> asked = fields.millis("ttlMillis");
    if (asked.filter(Duration::isZero).isPresent()) {
      return asked;
    }
    Duration ttl = fields.limit("ttlMillis", Duration.ZERO, caps.ttl());
    return Optional.of(ttl).filter(Duration::isPositive);
  }

  /** {@code "none"}, {@code "host"} or {@code {"allow": […]}}. */
  static Optional<Network> network(Fields fields) {
    Optional<Fields> object = fields.objectOrElse("network");
    if (object.isPresent()) {
      List<String> rules = object.get().texts("allow");
      object.get().end();
      return Optional.of(allow(rules));
    }
    return fields.text("network").map(Orders::network);
  }

  private static Network allow(List<String> rules) {
    try {
      return rules.isEmpty() ? Network.NONE : Network.allow(rules);
    } catch (IllegalArgumentException e) {
      throw new Problem(Problem.Code.BAD_REQUEST, String.valueOf(e.getMessage()));
    }
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

  /**
   * A command, and what it is to read.
   *
   * @param input all of its stdin; empty: what is written to it later, or nothing
   */
  record Command(ExecSpec spec, Optional<byte[]> input) {}

  /** One with a terminal is for a person, whom no default cuts short. */
  static Command command(Fields fields, Duration defaultTimeout, Caps caps) {
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
    return new Command(spec, input);
  }

  /** An interpreter that keeps its state, as it is when nobody says more. */
  public static ServedContext.Order interpreter(Optional<String> name, Runner runner, Caps caps) {
    if (name.filter(text -> !NAME.matcher(text).matches()).isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST,
          "\"name\" must be up to 64 letters, digits, dots, dashes and underscores, and not be as"
              + " an id, c1");
    }
    var spec = capped(ExecSpec.of(runner.command()), caps).withTimeout(Duration.ZERO);
    return new ServedContext.Order(name, runner, spec.withDialogue());
  }

  /** The defaults, or less where less is allowed. */
  public static ExecSpec capped(ExecSpec spec, Caps caps) {
    return spec.withOutputLimit(least(ExecSpec.DEFAULT_OUTPUT_LIMIT, caps.output()))
        .withOpenFiles(Math.min(ExecSpec.DEFAULT_OPEN_FILES, caps.openFiles()))
        .withFileSize(least(ExecSpec.DEFAULT_FILE_SIZE, caps.fileSize()))
        .withGrace(caps.grace(ExecSpec.DEFAULT_GRACE));
  }

  private static ByteSize least(ByteSize one, ByteSize other) {
    return one.bytes() <= other.bytes() ? one : other;
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
