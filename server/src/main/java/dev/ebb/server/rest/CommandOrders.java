package dev.ebb.server.rest;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.service.CommandTask;
import dev.ebb.server.service.access.Caps;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Requests to run commands. */
final class CommandOrders {
  private static final int LEAST_FILES = 3;

  private CommandOrders() {}

  private static final Field<List<String>> COMMAND = Field.texts("command").required();
  static final Field<Map<String, String>> ENVIRONMENT = Field.textMap("environment");
  private static final Field<Optional<String>> WORKDIR = Field.text("workdir");
  private static final Field<Optional<Duration>> TIMEOUT =
      Field.millis("timeoutMillis").described(OrderFields.CAPPED);
  private static final Field<OptionalLong> GRACE = graceField(OrderFields.CAPPED);
  private static final Field<OptionalLong> OUTPUT_LIMIT = outputLimit(OrderFields.CAPPED);
  private static final Field<OptionalLong> OPEN_FILES =
      Field.whole("openFiles", LEAST_FILES, Caps.ANY_FILES).described(OrderFields.CAPPED);
  private static final Field<OptionalLong> FILE_SIZE =
      Field.whole("fileSizeBytes", 0, Long.MAX_VALUE).described(OrderFields.CAPPED);
  private static final Field<Boolean> STDIN = Field.flag("stdin", false);
  private static final Field<Optional<byte[]>> INPUT = Field.bytes("input");
  private static final Field<Boolean> KEEP = Field.flag("keep", false);
  private static final Field<Boolean> OPERATOR = Field.flag("operator", false);

  private static final Field<OptionalLong> ROWS =
      Field.whole("rows", 1, ExecKind.Terminal.SIDE_MAX);
  private static final Field<OptionalLong> COLUMNS =
      Field.whole("columns", 1, ExecKind.Terminal.SIDE_MAX);

  /** The size of a terminal. */
  static final RequestSchema SIZE = RequestSchema.inline(ROWS, COLUMNS);

  private static final Field<Optional<Fields>> TERMINAL = Field.object("terminal", SIZE);

  static final RequestSchema COMMANDS =
      RequestSchema.named(
          "ExecRequest",
          COMMAND,
          ENVIRONMENT,
          WORKDIR,
          TIMEOUT,
          GRACE,
          OUTPUT_LIMIT,
          OPEN_FILES,
          FILE_SIZE,
          STDIN,
          INPUT,
          KEEP,
          TERMINAL,
          OPERATOR);

  /** A command with a terminal serves a person, so it has no default timeout. */
  static CommandTask command(Fields fields, Duration defaultTimeout, Caps caps) {
    var input = fields.get(INPUT);
    boolean stdin = fields.get(STDIN);
    if (stdin && input.isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"stdin\" and \"input\" are two ways to say one thing");
    }
    var size = fields.get(TERMINAL);
    var spec =
        limits(fields, size.isPresent() ? Duration.ZERO : defaultTimeout, caps)
            .withEnvironment(fields.get(ENVIRONMENT));
    var workdir = fields.get(WORKDIR);
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    spec = fields.get(KEEP) ? spec.withKeep() : spec;
    spec = stdin || input.isPresent() ? spec.withInput() : spec;
    if (size.isPresent()) {
      Size wanted = size(size.get());
      spec = spec.withTerminal(wanted.rows(), wanted.columns());
    }
    spec = fields.get(OPERATOR) ? spec.withOperator() : spec;
    fields.end();
    return new CommandTask(spec, input);
  }

  /** Reads the size of a terminal. */
  record Size(int rows, int columns) {}

  static Size size(Fields fields) {
    var size = new Size((int) fields.get(ROWS).orElse(24), (int) fields.get(COLUMNS).orElse(80));
    fields.end();
    return size;
  }

  private static ExecSpec limits(Fields fields, Duration defaultTimeout, Caps caps) {
    Duration grace = grace(fields, GRACE, caps);
    long openFiles = fields.limit(OPEN_FILES, ExecSpec.DEFAULT_OPEN_FILES, caps.openFiles());
    long fileSize =
        fields.limit(FILE_SIZE, ExecSpec.DEFAULT_FILE_SIZE.bytes(), caps.fileSize().bytes());
    return ExecSpec.of(fields.get(COMMAND))
        .withTimeout(fields.limit(TIMEOUT, defaultTimeout, caps.timeout()))
        .withGrace(grace)
        .withOutputLimit(outputLimit(fields, OUTPUT_LIMIT, caps))
        .withOpenFiles((int) openFiles)
        .withFileSize(new ByteSize(fileSize));
  }

  // --- limits that contexts and cells have, too ---

  static Field<OptionalLong> graceField(String description) {
    return Field.whole("graceMillis", 0, Fields.LONGEST_MILLIS).described(description);
  }

  /** Reads the grace between SIGTERM and SIGKILL; a timeout is followed by no more than this. */
  static Duration grace(Fields fields, Field<OptionalLong> field, Caps caps) {
    long most = caps.timeout().isZero() ? Long.MAX_VALUE : caps.timeout().toMillis();
    return Duration.ofMillis(fields.limit(field, ExecSpec.DEFAULT_GRACE.toMillis(), most));
  }

  static Field<OptionalLong> outputLimit(String description) {
    return Field.whole("outputLimitBytes", 0, Long.MAX_VALUE).described(description);
  }

  static ByteSize outputLimit(Fields fields, Field<OptionalLong> field, Caps caps) {
    return new ByteSize(
        fields.limit(field, ExecSpec.DEFAULT_OUTPUT_LIMIT.bytes(), caps.output().bytes()));
  }
}
