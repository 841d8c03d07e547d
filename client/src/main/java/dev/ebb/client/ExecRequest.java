package dev.ebb.client;

import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request for a command; the daemon has defaults for null values. Immutable.
 *
 * @param timeout zero for none
 * @param stdin whether {@link Execs#feed} will be called
 * @param input all of its stdin, given at once
 * @param keep let daemonised children live until the box ends
 * @param operator runs it outside the workload's limits; for admins
 */
public record ExecRequest(
    List<String> command,
    Map<String, String> environment,
    @Nullable String workdir,
    @Nullable Duration timeout,
    @Nullable Duration grace,
    @Nullable Long outputLimitBytes,
    @Nullable Integer openFiles,
    @Nullable Long fileSizeBytes,
    boolean stdin,
    @Nullable Output input,
    boolean keep,
    @Nullable TerminalSize terminal,
    boolean operator) {

  public ExecRequest {
    command = List.copyOf(command);
    environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
  }

  public static ExecRequest of(String... command) {
    return of(List.of(command));
  }

  public static ExecRequest of(List<String> command) {
    return new ExecRequest(
        command, Map.of(), null, null, null, null, null, null, false, null, false, null, false);
  }

  public ExecRequest withEnvironment(String name, String value) {
    return copy(copy -> copy.environment.put(name, value));
  }

  public ExecRequest withWorkdir(@Nullable String directory) {
    return copy(copy -> copy.workdir = directory);
  }

  public ExecRequest withTimeout(@Nullable Duration changed) {
    return copy(copy -> copy.timeout = changed);
  }

  public ExecRequest withGrace(@Nullable Duration changed) {
    return copy(copy -> copy.grace = changed);
  }

  /** Limits of output, of open files of a process, and of one file; null: the daemon's default. */
  public ExecRequest withLimits(
      @Nullable Long output, @Nullable Integer files, @Nullable Long fileSize) {
    return copy(
        copy -> {
          copy.outputLimitBytes = output;
          copy.openFiles = files;
          copy.fileSizeBytes = fileSize;
        });
  }

  public ExecRequest withStdin() {
    return copy(
        copy -> {
          copy.stdin = true;
          copy.input = null;
        });
  }

  public ExecRequest withInput(Output all) {
    return copy(
        copy -> {
          copy.stdin = false;
          copy.input = all;
        });
  }

  public ExecRequest withKeep(boolean changed) {
    return copy(copy -> copy.keep = changed);
  }

  public ExecRequest withTerminal(TerminalSize size) {
    return copy(copy -> copy.terminal = size);
  }

  public ExecRequest withOperator(boolean changed) {
    return copy(copy -> copy.operator = changed);
  }

  private ExecRequest copy(Consumer<Copy> change) {
    var copy = new Copy(this);
    change.accept(copy);
    return copy.request();
  }

  /** A mutable copy of a request. */
  private static final class Copy {
    private final List<String> command;
    private final Map<String, String> environment;
    private @Nullable String workdir;
    private @Nullable Duration timeout;
    private @Nullable Duration grace;
    private @Nullable Long outputLimitBytes;
    private @Nullable Integer openFiles;
    private @Nullable Long fileSizeBytes;
    private boolean stdin;
    private @Nullable Output input;
    private boolean keep;
    private @Nullable TerminalSize terminal;
    private boolean operator;

    private Copy(ExecRequest request) {
      command = request.command;
      environment = new LinkedHashMap<>(request.environment);
      workdir = request.workdir;
      timeout = request.timeout;
      grace = request.grace;
      outputLimitBytes = request.outputLimitBytes;
      openFiles = request.openFiles;
      fileSizeBytes = request.fileSizeBytes;
      stdin = request.stdin;
      input = request.input;
      keep = request.keep;
      terminal = request.terminal;
      operator = request.operator;
    }

    private ExecRequest request() {
      return new ExecRequest(
          command,
          environment,
          workdir,
          timeout,
          grace,
          outputLimitBytes,
          openFiles,
          fileSizeBytes,
          stdin,
          input,
          keep,
          terminal,
          operator);
    }
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("command", command)
        .with("environment", Documents.unlessEmpty(JsonObject.ofStrings(environment)))
        .with("workdir", workdir)
        .with("timeoutMillis", Documents.millis(timeout))
        .with("graceMillis", Documents.millis(grace))
        .with("outputLimitBytes", outputLimitBytes)
        .with("openFiles", Documents.number(openFiles))
        .with("fileSizeBytes", fileSizeBytes)
        .with("stdin", stdin ? Boolean.TRUE : null)
        .with("input", input == null ? null : input.document())
        .with("keep", keep ? Boolean.TRUE : null)
        .with("terminal", terminal == null ? null : terminal.document())
        .with("operator", operator ? Boolean.TRUE : null);
  }
}
