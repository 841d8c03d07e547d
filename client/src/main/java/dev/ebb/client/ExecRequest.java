package dev.ebb.client;

import dev.ebb.client.json.JsonObject;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The command that is wanted; what is null is left to the daemon. Immutable.
 *
 * @param timeout zero for none
 * @param stdin whether {@link Execs#feed} will be called
 * @param input all of its stdin, given at once
 * @param keep let daemonised children live until the box ends
 * @param operator beside the workload's limits, for an admin
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
    var more = new LinkedHashMap<>(environment);
    more.put(name, value);
    return new ExecRequest(
        command,
        more,
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

  public ExecRequest withWorkdir(@Nullable String directory) {
    return new ExecRequest(
        command,
        environment,
        directory,
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

  public ExecRequest withTimeout(@Nullable Duration newTimeout) {
    return new ExecRequest(
        command,
        environment,
        workdir,
        newTimeout,
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

  public ExecRequest withGrace(@Nullable Duration newGrace) {
    return new ExecRequest(
        command,
        environment,
        workdir,
        timeout,
        newGrace,
        outputLimitBytes,
        openFiles,
        fileSizeBytes,
        stdin,
        input,
        keep,
        terminal,
        operator);
  }

  /** Of output, of open files of one process, and of one file; null leaves it to the daemon. */
  public ExecRequest withLimits(
      @Nullable Long output, @Nullable Integer files, @Nullable Long fileSize) {
    return new ExecRequest(
        command,
        environment,
        workdir,
        timeout,
        grace,
        output,
        files,
        fileSize,
        stdin,
        input,
        keep,
        terminal,
        operator);
  }

  public ExecRequest withStdin() {
    return new ExecRequest(
        command,
        environment,
        workdir,
        timeout,
        grace,
        outputLimitBytes,
        openFiles,
        fileSizeBytes,
        true,
        null,
        keep,
        terminal,
        operator);
  }

  public ExecRequest withInput(Output all) {
    return new ExecRequest(
        command,
        environment,
        workdir,
        timeout,
        grace,
        outputLimitBytes,
        openFiles,
        fileSizeBytes,
        false,
        all,
        keep,
        terminal,
        operator);
  }

  public ExecRequest withKeep(boolean newKeep) {
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
        newKeep,
        terminal,
        operator);
  }

  public ExecRequest withTerminal(TerminalSize size) {
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
        size,
        operator);
  }

  public ExecRequest withOperator(boolean newOperator) {
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
        newOperator);
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
