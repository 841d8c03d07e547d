package dev.ebb.server.answer;

import static dev.ebb.server.schema.Values.COUNT;
import static dev.ebb.server.schema.Values.FLAG;
import static dev.ebb.server.schema.Values.INTEGER;
import static dev.ebb.server.schema.Values.MILLIS;
import static dev.ebb.server.schema.Values.TEXT;
import static dev.ebb.server.schema.Values.TEXTS;
import static dev.ebb.server.schema.Values.TIME;

import dev.ebb.model.ExecResult;
import dev.ebb.model.ExitCause;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.StuckProcess;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Output;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRelease;
import dev.ebb.server.service.TenantExec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answers about commands. */
public final class ExecAnswers {
  private ExecAnswers() {}

  // --- how one ended ---

  private static final ObjectSchema<StuckProcess> STUCK =
      ObjectSchema.<StuckProcess>inline()
          .has("pid", COUNT, StuckProcess::pid)
          .has("state", TEXT, process -> String.valueOf(process.state()))
          .has("waitChannel", TEXT, StuckProcess::waitChannel)
          .has("file", TEXT, StuckProcess::file);

  public static final ObjectSchema<ExitCause> CAUSE =
      ObjectSchema.<ExitCause>named("Cause")
          .has("kind", endings("exited", "signalled"), ExitCause::kind)
          .may("code", INTEGER, ExecAnswers::code)
          .may("signal", INTEGER, ExecAnswers::signal)
          .may("message", TEXT, ExecAnswers::message)
          .may("processes", Values.list(STUCK), ExecAnswers::processes);

  /** Returns a type for {@code own} words, and for each end that is not the command's own. */
  static Value<String> endings(String... own) {
    var words = new ArrayList<>(List.of(own));
    Collections.addAll(
        words,
        "timed-out",
        "out-of-memory",
        "output-limit",
        "output-lost",
        "killed",
        "not-started",
        "lost",
        "stuck");
    return Values.words(words.toArray(String[]::new));
  }

  /** Returns the exit of the leader as the kernel reported it, if it did. */
  private static Optional<ExitCause.Exit> last(ExitCause cause) {
    return switch (cause) {
      case ExitCause.Exited(var code) -> Optional.of(new ExitCause.Exit(code, 0));
      case ExitCause.Signalled(var signal) -> Optional.of(new ExitCause.Exit(0, signal));
      case ExitCause.TimedOut(var last) -> Optional.of(last);
      case ExitCause.OutOfMemory(var last) -> Optional.of(last);
      case ExitCause.OutputLimit(var last) -> Optional.of(last);
      case ExitCause.OutputLost(var last) -> Optional.of(last);
      case ExitCause.Killed(var last) -> Optional.of(last);
      case ExitCause.NotStarted(var code, _) -> Optional.of(new ExitCause.Exit(code, 0));
      case ExitCause.Lost _, ExitCause.Stuck _ -> Optional.empty();
    };
  }

  private static Optional<Integer> code(ExitCause cause) {
    return last(cause).filter(last -> last.signal() == 0).map(ExitCause.Exit::code);
  }

  private static Optional<Integer> signal(ExitCause cause) {
    return last(cause).filter(last -> last.signal() != 0).map(ExitCause.Exit::signal);
  }

  private static Optional<String> message(ExitCause cause) {
    return cause instanceof ExitCause.NotStarted(_, var reason)
        ? Optional.of(reason)
        : Optional.empty();
  }

  private static Optional<List<StuckProcess>> processes(ExitCause cause) {
    return cause instanceof ExitCause.Stuck(var processes)
        ? Optional.of(processes)
        : Optional.empty();
  }

  public static final ObjectSchema<OutputLoss> LOST =
      ObjectSchema.<OutputLoss>named(
              "Lost", "output that could not be stored, or not be read again")
          .has("stdoutBytes", COUNT, OutputLoss::stdout)
          .has("stderrBytes", COUNT, OutputLoss::stderr)
          .has("reason", TEXT.described("the kernel's word, as ENOSPC"), OutputLoss::reason);

  private static final ObjectSchema<ExecResult.Kept> KEPT =
      ObjectSchema.<ExecResult.Kept>inline()
          .has("pid", COUNT, ExecResult.Kept::pid)
          .has("command", TEXT, ExecResult.Kept::command);

  private static final ObjectSchema<ExecResult.Leftovers> LEFTOVERS =
      ObjectSchema.<ExecResult.Leftovers>inline()
          .has("killed", COUNT, leftovers -> leftovers.count() - leftovers.kept().size())
          .has("kept", Values.list(KEPT), ExecResult.Leftovers::kept);

  // --- commands ---

  public static final Value<String> STATUS =
      TEXT.described(
          "exited, killed, timed-out, out-of-memory, output-limit, output-lost, not-started, lost"
              + " or stuck");

  public static final Value<Number> EXIT_CODE =
      INTEGER.described("as a shell has it: 124 for a timeout, 128+n for signal n");

  public static final ObjectSchema<ExecState> EXEC =
      ObjectSchema.<ExecState>named("Exec")
          .has("box", TEXT.described("id of its box"), state -> state.exec().box().id())
          .has("number", COUNT.described("its number in that box"), state -> state.exec().number())
          .has("command", TEXTS, state -> state.exec().spec().command())
          .has("state", Values.words("running", "ended"), ExecState::wireName)
          .has("startedAt", TIME, state -> state.exec().startedAt())
          .may("pid", COUNT, ExecState::pid)
          .has("pids", Values.list(COUNT), ExecState::pids)
          .has("stdoutBytes", COUNT, state -> state.exec().view().stdout().size())
          .has("stderrBytes", COUNT, state -> state.exec().view().stderr().size())
          .may("endedAt", TIME, state -> state.ending().map(TenantExec.Ending::at))
          .may("status", STATUS, state -> state.cause().map(ExitCause::status))
          .may("exitCode", EXIT_CODE, state -> state.cause().map(ExitCause::code))
          .may("cause", CAUSE, ExecState::cause)
          .may("durationMillis", MILLIS, state -> state.result().map(ExecResult::wall))
          .may("truncated", FLAG, ExecState::truncated)
          .may("lost", LOST, ExecState::lost)
          .may(
              "inputCut",
              FLAG.described("true when an earlier daemon ended before the caller ended the input"),
              ExecState::isInputCut)
          .may("leftovers", LEFTOVERS, state -> state.result().map(ExecResult::leftovers))
          .may("usage", BoxAnswers.USAGE, state -> state.result().map(ExecResult::usage));

  /** Returns the answer about a command in its current state. */
  public static Map<String, Object> exec(TenantExec exec) {
    return EXEC.write(ExecState.of(exec));
  }

  public static final ObjectSchema<List<ExecState>> EXECS =
      ObjectSchema.<List<ExecState>>named("Execs").has("execs", Values.list(EXEC), execs -> execs);

  public static Map<String, Object> execs(List<TenantExec> execs) {
    return EXECS.write(execs.stream().map(ExecState::of).toList());
  }

  // --- with output ---

  /** A command that has ended, with its output unless that was sent before. */
  public record Result(ExecState state, Optional<OutputStart> output) {
    /** Makes it for output that was sent as events; some of it could not be read. */
    public static Result sent(TenantExec exec, OutputLoss unread) {
      return new Result(ExecState.of(exec).without(unread), Optional.empty());
    }

    public Result without(OutputLoss unread) {
      return new Result(state.without(unread), output);
    }

    /** Makes it with the beginning of the output. */
    public static Result whole(Exchange exchange, TenantExec exec) throws InterruptedException {
      ExecState state = ExecState.of(exec);
      OutputStart output = OutputStart.read(exchange, exec.view().segment());
      state = state.without(output.unread());
      return new Result(output.isCut() ? state.cut() : state, Optional.of(output));
    }
  }

  public static final ObjectSchema<Result> RESULT =
      ObjectSchema.<Result>named("Result")
          .includes(EXEC, Result::state)
          .may("stdout", Output.VALUE, result -> result.output().map(OutputStart::stdout))
          .may("stderr", Output.VALUE, result -> result.output().map(OutputStart::stderr));

  /** An answer about a run, and the release of its box. */
  public record Released(Map<String, Object> answer, BoxRelease release) {}

  /** An answer about a run in a box of its own, and how far the release of that box has come. */
  public static ObjectSchema<Released> released(String name, ObjectSchema<?> answer) {
    return ObjectSchema.<Released>named(name)
        .includes(answer.written(), Released::answer)
        .includes(BoxAnswers.RELEASE, Released::release);
  }

  public static final ObjectSchema<Released> RUN = released("RunResult", RESULT);

  /** The position in the output of a command up to which it was read. */
  @SuppressWarnings("ArrayRecordComponent") // never compared, never changed
  public record SoFar(
      byte[] stdout, long stdoutOffset, byte[] stderr, long stderrOffset, boolean ended) {}

  public static final ObjectSchema<SoFar> SO_FAR =
      ObjectSchema.<SoFar>named("OutputSoFar")
          .has("stdout", Output.VALUE, SoFar::stdout)
          .has("stdoutOffset", COUNT, SoFar::stdoutOffset)
          .has("stderr", Output.VALUE, SoFar::stderr)
          .has("stderrOffset", COUNT, SoFar::stderrOffset)
          .has("ended", FLAG, SoFar::ended);
}
