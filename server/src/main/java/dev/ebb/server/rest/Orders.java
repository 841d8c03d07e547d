package dev.ebb.server.rest;

import dev.ebb.backend.ExecKind;
import dev.ebb.backend.Mount;
import dev.ebb.backend.Network;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.Limits;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.exec.ExecSpec;
import dev.ebb.server.boxes.BoxOrder;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Boxes and commands as requests order them. */
final class Orders {
  private Orders() {}

  // --- boxes ---

  /** A file that a new box is to hold. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  record Content(String path, byte[] bytes) {}

  /** A box, and what is to be written into it. */
  record Ordered(BoxOrder order, List<Content> files) {}

  static Ordered box(Fields fields) {
    var files = fields.objects("files").stream().map(Orders::content).toList();
    var order =
        new BoxOrder(
            fields.text("name"),
            fields.textMap("labels"),
            spec(fields),
            fields.millis("ttlMillis"),
            fields.millis("idleTimeoutMillis"),
            fields.flag("detached"));
    fields.end();
    return new Ordered(order, files);
  }

  private static Content content(Fields fields) {
    String path = required(fields.text("path"), "files[].path");
    byte[] bytes =
        fields
            .bytes("content")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "files[].content is missing"));
    fields.end();
    return new Content(path, bytes);
  }

  private static BoxSpec spec(Fields fields) {
    var spec = BoxSpec.defaults().withLimits(limits(fields.object("limits")));
    spec = spec.withNetwork(network(fields.text("network").orElse("none")));
    for (Fields mount : fields.objects("mounts")) {
      spec = spec.withMount(mount(mount));
    }
    for (String directory : fields.texts("packages")) {
      spec = spec.withPackages(hostPath(directory, "packages"));
    }
    return spec;
  }

  private static Limits limits(Optional<Fields> given) {
    var limits = Limits.defaults();
    if (given.isEmpty()) {
      return limits;
    }
    Fields fields = given.get();
    var memory = fields.number("memoryBytes", 1, Long.MAX_VALUE);
    var pids = fields.number("pids", 1, 1 << 22);
    var disk = fields.number("diskBytes", 1, Long.MAX_VALUE);
    var cpus = fields.fraction("cpus");
    fields.end();
    limits = memory.isPresent() ? limits.withMemory(new ByteSize(memory.getAsLong())) : limits;
    limits = pids.isPresent() ? limits.withPids((int) pids.getAsLong()) : limits;
    limits = disk.isPresent() ? limits.withDisk(new ByteSize(disk.getAsLong())) : limits;
    return cpus.isPresent() ? limits.withCpus(cpus.get()) : limits;
  }

  private static Network network(String word) {
    return switch (word) {
      case "none" -> Network.NONE;
      case "host" -> Network.HOST;
      default -> throw new Problem(Problem.Code.BAD_REQUEST, "\"network\" must be none or host");
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

  static Command command(Fields fields, Duration defaultTimeout) {
    var input = fields.bytes("input");
    boolean stdin = fields.flag("stdin");
    if (stdin && input.isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"stdin\" and \"input\" are two ways to say one thing");
    }
    var spec =
        ExecSpec.of(fields.texts("command"))
            .withEnvironment(fields.textMap("environment"))
            .withTimeout(fields.millis("timeoutMillis").orElse(defaultTimeout))
            .withGrace(fields.millis("graceMillis").orElse(ExecSpec.DEFAULT_GRACE));
    var workdir = fields.text("workdir");
    var output = fields.number("outputLimitBytes", 0, Long.MAX_VALUE);
    var openFiles = fields.number("openFiles", 3, 1 << 20);
    var fileSize = fields.number("fileSizeBytes", 0, Long.MAX_VALUE);
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    spec = output.isPresent() ? spec.withOutputLimit(new ByteSize(output.getAsLong())) : spec;
    spec = openFiles.isPresent() ? spec.withOpenFiles((int) openFiles.getAsLong()) : spec;
    spec = fileSize.isPresent() ? spec.withFileSize(new ByteSize(fileSize.getAsLong())) : spec;
    spec = fields.flag("keep") ? spec.withKeep() : spec;
    spec = stdin || input.isPresent() ? spec.withInput() : spec;
    spec = terminal(spec, fields.object("terminal"));
    spec = fields.flag("operator") ? spec.withOperator() : spec;
    fields.end();
    return new Command(spec, input);
  }
}
