package dev.ebb.exec;

import dev.ebb.model.ByteSize;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.ExitCause.Exit;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.StuckProcess;
import dev.ebb.process.StuckProcesses;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The record of one exec in the journal of a detached box. It does not hold the environment, which
 * may contain secrets.
 */
record ExecRecord(
    int number,
    ExecSpec spec,
    Instant startedAt,
    long oomKillsBefore,
    ExecInput.State input,
    Optional<ExecResult> end) {
  private static final String EXEC = "exec";
  private static final String ENDED = "ended";
  private static final String INPUT = "input";

  /** Makes the record of a command that starts now, with or without a pipe for input. */
  static ExecRecord atStart(int number, ExecSpec spec, long oomKillsBefore, boolean isFed) {
    var input = isFed ? ExecInput.State.OPEN : ExecInput.State.WHOLE;
    return new ExecRecord(number, spec, Instant.now(), oomKillsBefore, input, Optional.empty());
  }

  /** Reads all records of a journal, in the order of their starts. */
  static List<ExecRecord> of(List<JournalEntry> entries) throws IOException {
    var records = new java.util.TreeMap<Integer, ExecRecord>();
    for (JournalEntry entry : entries) {
      switch (entry.about()) {
        case EXEC -> records.put(entry.integer("number"), started(entry));
        case INPUT -> {
          ExecInput.State input = input(entry, "is");
          records.computeIfPresent(entry.integer("number"), (_, r) -> r.with(input));
        }
        case ENDED -> {
          ExecResult end = end(entry);
          records.computeIfPresent(entry.integer("number"), (_, r) -> r.with(end));
        }
        default -> {}
      }
    }
    return List.copyOf(records.values());
  }

  private ExecRecord with(ExecResult last) {
    return new ExecRecord(number, spec, startedAt, oomKillsBefore, input, Optional.of(last));
  }

  private ExecRecord with(ExecInput.State now) {
    return new ExecRecord(number, spec, startedAt, oomKillsBefore, now, end);
  }

  // --- its start ---

  JournalEntry entry() {
    JournalEntry entry =
        JournalEntry.about(EXEC)
            .with("number", number)
            .with("started-at", startedAt.toEpochMilli())
            .with("oom-kills", oomKillsBefore)
            .withAll("word", spec.command())
            .with("workdir", spec.workdir())
            .with("timeout", spec.timeout().toMillis())
            .with("grace", spec.grace().toMillis())
            .with("output-limit", spec.outputLimit().bytes())
            .with("open-files", spec.openFiles())
            .with("file-size", spec.fileSize().bytes())
            .with("takes-input", spec.takesInput())
            .with(INPUT, input)
            .with("keep", spec.keep())
            .with("operator", spec.operator());
    return spec.kind() instanceof ExecKind.Terminal(var rows, var columns)
        ? entry.with("rows", rows).with("columns", columns)
        : entry;
  }

  private static ExecRecord started(JournalEntry entry) throws IOException {
    ExecKind kind =
        entry.find("rows").isPresent()
            ? new ExecKind.Terminal(entry.integer("rows"), entry.integer("columns"))
            : ExecKind.COMMAND;
    var spec =
        new ExecSpec(
            entry.texts("word"),
            Map.of(),
            entry.text("workdir"),
            Duration.ofMillis(entry.number("timeout")),
            Duration.ofMillis(entry.number("grace")),
            new ByteSize(entry.number("output-limit")),
            entry.integer("open-files"),
            new ByteSize(entry.number("file-size")),
            entry.flag("takes-input"),
            entry.flag("keep"),
            kind,
            entry.flag("operator"));
    return new ExecRecord(
        entry.integer("number"),
        spec,
        Instant.ofEpochMilli(entry.number("started-at")),
        entry.number("oom-kills"),
        entry.find(INPUT).isPresent() ? input(entry, INPUT) : ExecInput.State.WHOLE,
        Optional.empty());
  }

  // --- its input ---

  static JournalEntry input(int number, ExecInput.State state) {
    return JournalEntry.about(INPUT).with("number", number).with("is", state);
  }

  private static ExecInput.State input(JournalEntry entry, String key) throws IOException {
    try {
      return ExecInput.State.valueOf(entry.text(key));
    } catch (IllegalArgumentException e) {
      throw new IOException("the record of a box knows no input " + entry.text(key), e);
    }
  }

  // --- its end ---

  static JournalEntry ended(int number, ExecResult result) {
    CgroupUsage usage = result.usage();
    JournalEntry entry =
        JournalEntry.about(ENDED)
            .with("number", number)
            .with("stdout", result.stdoutSize())
            .with("stderr", result.stderrSize())
            .with("truncated", result.truncated())
            .with("log-errno", result.loss().errno())
            .with("stdout-lost", result.loss().stdout())
            .with("stderr-lost", result.loss().stderr())
            .with("cpu", usage.cpu().toNanos())
            .with("peak-memory", usage.peakMemoryBytes())
            .with("peak-pids", usage.peakPids())
            .with("oom-kills", usage.oomKills())
            .with("pids-refused", usage.pidsRefused())
            .with("leftovers", result.leftovers().count())
            .with("wall", result.wall().toNanos());
    for (ExecResult.Kept kept : result.leftovers().kept()) {
      entry = entry.with("kept-pid", kept.pid()).with("kept-command", kept.command());
    }
    return cause(entry, result.cause());
  }

  private static JournalEntry cause(JournalEntry entry, ExitCause cause) {
    JournalEntry named = entry.with("cause", cause.getClass().getSimpleName());
    return switch (cause) {
      case ExitCause.Exited(var code) -> named.with("code", code);
      case ExitCause.Signalled(var signal) -> named.with("signal", signal);
      case ExitCause.TimedOut(var last) -> last(named, last);
      case ExitCause.OutOfMemory(var last) -> last(named, last);
      case ExitCause.OutputLimit(var last) -> last(named, last);
      case ExitCause.OutputLost(var last) -> last(named, last);
      case ExitCause.Killed(var last) -> last(named, last);
      case ExitCause.NotStarted(var code, var reason) ->
          named.with("code", code).with("reason", reason);
      case ExitCause.Lost() -> named;
      case ExitCause.Stuck(var processes) ->
          named.withAll("stuck", processes.stream().map(StuckProcess::pid).toList());
    };
  }

  private static JournalEntry last(JournalEntry entry, Exit last) {
    return entry.with("code", last.code()).with("signal", last.signal());
  }

  private static ExecResult end(JournalEntry entry) throws IOException {
    var usage =
        new CgroupUsage(
            Duration.ofNanos(entry.number("cpu")),
            entry.number("peak-memory"),
            entry.number("peak-pids"),
            entry.number("oom-kills"),
            entry.number("pids-refused"));
    var kept = new ArrayList<ExecResult.Kept>();
    List<String> commands = entry.texts("kept-command");
    for (String pid : entry.texts("kept-pid")) {
      kept.add(new ExecResult.Kept(Integer.parseInt(pid), commands.get(kept.size())));
    }
    return new ExecResult(
        cause(entry),
        entry.number("stdout"),
        entry.number("stderr"),
        entry.flag("truncated"),
        loss(entry),
        usage,
        new ExecResult.Leftovers(entry.integer("leftovers"), kept),
        Duration.ofNanos(entry.number("wall")));
  }

  /** A record of an earlier version has no numbers. */
  private static OutputLoss loss(JournalEntry entry) throws IOException {
    int errno = entry.integer("log-errno");
    return entry.find("stdout-lost").isPresent()
        ? new OutputLoss(entry.number("stdout-lost"), entry.number("stderr-lost"), errno)
        : new OutputLoss(0, 0, errno);
  }

  private static ExitCause cause(JournalEntry entry) throws IOException {
    return switch (entry.text("cause")) {
      case "Exited" -> new ExitCause.Exited(entry.integer("code"));
      case "Signalled" -> new ExitCause.Signalled(entry.integer("signal"));
      case "TimedOut" -> new ExitCause.TimedOut(last(entry));
      case "OutOfMemory" -> new ExitCause.OutOfMemory(last(entry));
      case "OutputLimit" -> new ExitCause.OutputLimit(last(entry));
      case "OutputLost" -> new ExitCause.OutputLost(last(entry));
      case "Killed" -> new ExitCause.Killed(last(entry));
      case "NotStarted" -> new ExitCause.NotStarted(entry.integer("code"), entry.text("reason"));
      case "Lost" -> new ExitCause.Lost();
      case "Stuck" ->
          new ExitCause.Stuck(
              entry.texts("stuck").stream()
                  .map(Integer::valueOf)
                  .map(StuckProcesses::describe)
                  .toList());
      default -> throw new IOException("the record of a box knows no end " + entry.text("cause"));
    };
  }

  private static Exit last(JournalEntry entry) throws IOException {
    return new Exit(entry.integer("code"), entry.integer("signal"));
  }
}
