package dev.ebb.server.answer;

import static dev.ebb.server.schema.Values.COUNT;
import static dev.ebb.server.schema.Values.FLAG;
import static dev.ebb.server.schema.Values.INTEGER;
import static dev.ebb.server.schema.Values.MILLIS;
import static dev.ebb.server.schema.Values.TEXT;
import static dev.ebb.server.schema.Values.TEXTS;
import static dev.ebb.server.schema.Values.TIME;

import dev.ebb.code.Cell;
import dev.ebb.code.CodeResult;
import dev.ebb.code.Context;
import dev.ebb.code.Written;
import dev.ebb.model.ExitCause;
import dev.ebb.model.Language;
import dev.ebb.server.http.Output;
import dev.ebb.server.http.Problem;
import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Schema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.TenantContext;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The answers about code and the interpreters that run it. */
public final class CodeAnswers {
  private CodeAnswers() {}

  // --- languages ---

  /** A language, and the tools for it on the host. */
  public record Tongue(Language language, List<String> missing, String version) {}

  private static final ObjectSchema<Tongue> LANGUAGE =
      ObjectSchema.<Tongue>named("Language")
          .has("name", TEXT, each -> each.language().name())
          .has("aliases", TEXTS, each -> each.language().aliases())
          .has("file", TEXT, each -> each.language().file())
          .has("available", FLAG, each -> each.missing().isEmpty())
          .may("missing", TEXTS, CodeAnswers::missing)
          .may("version", TEXT, CodeAnswers::version);

  private static Optional<List<String>> missing(Tongue each) {
    return Optional.of(each.missing()).filter(all -> !all.isEmpty());
  }

  private static Optional<String> version(Tongue each) {
    return Optional.of(each.version())
        .filter(version -> each.missing().isEmpty() && !version.isEmpty());
  }

  public static final ObjectSchema<List<Tongue>> LANGUAGES =
      ObjectSchema.<List<Tongue>>named("Languages")
          .has("languages", Values.list(LANGUAGE), all -> all);

  // --- contexts ---

  public static final ObjectSchema<TenantContext> CONTEXT =
      ObjectSchema.<TenantContext>named("Context")
          .has("id", TEXT, TenantContext::id)
          .may("name", TEXT, TenantContext::name)
          .has("box", TEXT, context -> context.box().id())
          .has("language", TEXT, context -> context.order().runner().wireName())
          .has(
              "state",
              Values.words(Context.State.values(), Context.State::wireName),
              TenantContext::state)
          .has("waiting", COUNT.described("cells that wait for their turn"), TenantContext::waiting)
          .has(
              "exec",
              COUNT.described("the number of the command that it is"),
              context -> context.exec().number())
          .has("createdAt", TIME, TenantContext::createdAt)
          .may(
              "broken",
              TEXT.described("what violated the protocol of interpreters; it was ended for that"),
              TenantContext::broken)
          .may("status", ExecAnswers.STATUS, context -> context.cause().map(ExitCause::status))
          .may("exitCode", ExecAnswers.EXIT_CODE, context -> context.cause().map(ExitCause::code))
          .may("cause", ExecAnswers.CAUSE, TenantContext::cause);

  public static final ObjectSchema<List<TenantContext>> CONTEXTS =
      ObjectSchema.<List<TenantContext>>named("Contexts")
          .has("contexts", Values.list(CONTEXT), all -> all);

  /** A context after an interrupt. */
  public record Interrupted(TenantContext context, boolean isCell) {}

  public static final ObjectSchema<Interrupted> INTERRUPTED =
      ObjectSchema.<Interrupted>named("InterruptedContext")
          .includes(CONTEXT, Interrupted::context)
          .has("interrupted", FLAG.described("whether a cell ran"), Interrupted::isCell);

  // --- cells ---

  /** One display, such as a figure or a table. */
  public static final Value<Map<String, byte[]>> FORMS = forms();

  private static Value<Map<String, byte[]>> forms() {
    Value<Map<String, byte[]>> plain = Values.map(Output.VALUE);
    var described = plain.described("one thing to look at, by the types of its forms");
    return new Value<>() {
      @Override
      public Map<String, Object> describe(Components components) {
        return components.refer("Forms", this, () -> described.describe(components));
      }

      @Override
      public Object write(Map<String, byte[]> forms) {
        return plain.write(forms);
      }
    };
  }

  public static Object forms(Cell.Shown shown) {
    return FORMS.write(shown.forms());
  }

  private static final ObjectSchema<Cell.Thrown> THROWN =
      ObjectSchema.<Cell.Thrown>inline()
          .has("name", TEXT, Cell.Thrown::name)
          .has("value", TEXT, Cell.Thrown::value)
          .has("traceback", TEXT, Cell.Thrown::traceback);

  public static final ObjectSchema<CellState> CELL =
      ObjectSchema.<CellState>named("CellResult")
          .has("context", TEXT, state -> state.context().id())
          .has("number", COUNT, state -> state.cell().number())
          .has(
              "outcome",
              Values.words(Cell.Outcome.values(), Cell.Outcome::wireName),
              CellState::outcome)
          .has(
              "state",
              TEXT.described("of the context, afterwards"),
              state -> state.context().state().wireName())
          .has("durationMillis", MILLIS, state -> state.result().took())
          .may("exitCode", INTEGER.described("of bash alone"), CellState::exitCode)
          .may("error", THROWN, state -> state.cell().thrown())
          .may(
              "cause",
              ExecAnswers.CAUSE.described("how the interpreter ended, if it did"),
              state -> state.result().cause())
          .may("broken", TEXT, state -> state.result().detail())
          .may("stdoutBytes", COUNT, state -> state.segment().map(each -> each.stdout().size()))
          .may("stderrBytes", COUNT, state -> state.segment().map(each -> each.stderr().size()))
          .may("lost", ExecAnswers.LOST, CellState::lost)
          .may("stdout", Output.VALUE, state -> state.output().map(OutputStart::stdout))
          .may("stderr", Output.VALUE, state -> state.output().map(OutputStart::stderr))
          .has("truncated", FLAG, CellState::isCut)
          .may("result", FORMS, CellState::shownResult)
          .may("displays", Values.list(FORMS), CellState::displays);

  // --- files ---

  public static final ObjectSchema<Written.File> FILE =
      ObjectSchema.<Written.File>named("CodeFile")
          .has("path", TEXT, Written.File::path)
          .has("sizeBytes", COUNT, Written.File::size)
          .has("type", TEXT, Written.File::type)
          .may("content", Output.VALUE, CodeAnswers::content)
          .may(
              "missing",
              TEXT.described("why its content, which was asked for, is not here"),
              CodeAnswers::missing);

  private static Optional<byte[]> content(Written.File file) {
    return file.content() instanceof Written.Content.Whole(var bytes)
        ? Optional.of(bytes)
        : Optional.empty();
  }

  private static Optional<String> missing(Written.File file) {
    return file.content() instanceof Written.Content.Missing(var reason)
        ? Optional.of(reason)
        : Optional.empty();
  }

  private static final Value<Iterable<Written.File>> FILES =
      Values.list(FILE).described("new or changed below /workspace");
  private static final Value<Boolean> FILES_CUT = FLAG.described("there are more than are listed");
  private static final Value<String> FILES_LOST = TEXT.described("why they are not known");

  // --- code ---

  /** The result of code, and of the command that ended last. */
  public record Ran(CodeResult<?> result, ExecAnswers.Result exec) {
    /** Code with missing output did not succeed. */
    public String outcome() {
      return exec.state().unread().isAny() && result.outcome().equals(Cell.Outcome.OK.wireName())
          ? Cell.Outcome.OUTPUT_LOST.wireName()
          : result.outcome();
    }
  }

  private static final ObjectSchema<Ran> RAN =
      ObjectSchema.<Ran>named("CodeOutcome")
          .includes(ExecAnswers.RESULT, Ran::exec)
          .has("language", TEXT, ran -> ran.result().language().name())
          .has(
              "phase",
              Values.words(CodeResult.Phase.values(), CodeResult.Phase::wireName),
              ran -> ran.result().phase())
          .has("outcome", ExecAnswers.endings("ok", "failed", "compile-error"), Ran::outcome)
          .may("files", FILES, ran -> ran.result().written().map(Written::files))
          .may("filesCut", FILES_CUT, ran -> ran.result().written().map(w -> w.isCut()))
          .may("filesLost", FILES_LOST, ran -> ran.result().written().flatMap(Written::lost));

  public static Map<String, Object> ran(CodeResult<?> result, ExecAnswers.Result exec) {
    return RAN.write(new Ran(result, exec));
  }

  public static final ObjectSchema<ExecAnswers.Released> CODE =
      ExecAnswers.released("CodeResult", RAN);

  /** Code that ran in an interpreter, and its files. */
  public record RanCell(CellState cell, Written written) {}

  private static final ObjectSchema<RanCell> RAN_CELL =
      ObjectSchema.<RanCell>named("CellCodeOutcome")
          .includes(CELL, RanCell::cell)
          .has("language", TEXT, ran -> ran.cell().context().order().runner().wireName())
          .has("phase", Values.words("run"), _ -> "run")
          .has("box", TEXT, ran -> ran.cell().context().box().id())
          .has("files", FILES, ran -> ran.written().files())
          .has("filesCut", FILES_CUT, ran -> ran.written().isCut())
          .may("filesLost", FILES_LOST, ran -> ran.written().lost());

  public static Map<String, Object> ran(CellState cell, Written written) {
    return RAN_CELL.write(new RanCell(cell, written));
  }

  public static final ObjectSchema<ExecAnswers.Released> CELL_CODE =
      ExecAnswers.released("CellCodeResult", RAN_CELL);

  private static final ObjectSchema<Problem> PROBLEM =
      ObjectSchema.<Problem>inline().has("problem", Problem.SCHEMA, problem -> problem);

  /**
   * An error in place of a result: the run failed through no fault of the code, after the answer
   * had begun.
   */
  public static final ObjectSchema<ExecAnswers.Released> LATE =
      ExecAnswers.released("LateProblem", PROBLEM);

  public static Map<String, Object> late(Problem problem) {
    return PROBLEM.write(problem);
  }

  /** The answer to a code request, in all its forms. */
  public static Map<String, Object> describeAny(Components components) {
    return Values.keywords(
        "anyOf",
        List.of(
            CODE.describe(components),
            CELL_CODE.describe(components),
            RAN_CELL.describe(components),
            Schema.with(
                LATE.describe(components),
                "description",
                "in place of all that: it could not go on, for no fault of the code, and the"
                    + " answer had begun")));
  }
}
