package dev.ebb.mcp;

import dev.ebb.code.Cell;
import dev.ebb.code.Runner;
import dev.ebb.code.Written;
import dev.ebb.exec.OutputLog;
import dev.ebb.exec.Segment;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.OutputLoss;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.CellState;
import dev.ebb.server.answer.CodeAnswers;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.CellTask;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantContext;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Code in a named interpreter that keeps its state between calls. */
final class ContextCode {
  /** The most characters of one form of a display, for a model. */
  private static final int FORM_MOST = 64 * 1024;

  /** The most bytes of all displays except pictures. */
  private static final int SHOWN_MOST = 4 * FORM_MOST;

  /** The overhead of each form. */
  private static final int OVERHEAD = 64;

  private final Workplace workplace;

  ContextCode(Workplace workplace) {
    this.workplace = workplace;
  }

  /** The result for a model and for a program, with the pictures that the code showed and wrote. */
  record Answered(Reply reply, String outcome, Written written) {}

  Answered run(Call call, TenantBox box, String name, Runner runner, CellTask task)
      throws IOException, InterruptedException {
    TenantContext context = context(call, box, name, runner);
    boolean isRestarted = workplace.boxes().revive(context, call::hasLeft);
    call.requireWanted();
    return workplace
        .runs()
        .cell(
            context,
            task,
            call,
            run -> {
              Cell.Result result = run.cell().result().orElseThrow();
              return new Answered(
                  reply(context, run.cell(), result, isRestarted),
                  result.outcome().wireName(),
                  run.written(call));
            });
  }

  /** Returns the context of this name, which is made when first used. */
  private TenantContext context(Call call, TenantBox box, String name, Runner runner)
      throws InterruptedException {
    TenantContext context = find(box, name).orElse(null);
    if (context == null) {
      var order = OrderFields.interpreter(Optional.of(name), runner, workplace.caps());
      try {
        context = workplace.boxes().createContext(box, order, call::hasLeft);
      } catch (SandboxException e) {
        // RACE: another call has made it meanwhile.
        context = e.code() == ErrorCode.CONFLICT ? find(box, name).orElseThrow(() -> e) : raise(e);
      }
    }
    if (context.order().runner() != runner) {
      throw new Problem(
          Problem.Code.BAD_REQUEST,
          "context \"%s\" is one of %s, not of %s; choose another name"
              .formatted(name, context.order().runner().wireName(), runner.wireName()));
    }
    return context;
  }

  private static TenantContext raise(SandboxException e) {
    throw e;
  }

  private static Optional<TenantContext> find(TenantBox box, String name) {
    return box.contexts().stream()
        .filter(each -> each.name().equals(Optional.of(name)))
        .findFirst();
  }

  // --- the reply ---

  /** The displays of a cell, as far as they fit. */
  private record Shown(
      Optional<Map<String, Object>> result,
      List<Map<String, Object>> displays,
      List<Reply.Picture> pictures,
      String text,
      boolean isCut) {}

  /** A cell that has ended, with its output and displays. */
  private record Ended(
      CellState state, boolean isRestarted, Excerpt stdout, Excerpt stderr, Shown shown) {
    boolean isTruncated() {
      return state.isCut() || stdout.isCut() || stderr.isCut() || shown.isCut();
    }
  }

  private static final Value<Map<String, Object>> FORMS =
      Value.of(CodeAnswers.FORMS, forms -> forms);

  /** Members of the answer of REST, and what a model needs to know about the context. */
  private static final ObjectSchema<Ended> CELL =
      ObjectSchema.<Ended>inline()
          .has(
              "box",
              Values.TEXT.described("id of its box"),
              ended -> ended.state().context().box().id())
          .has(
              "context",
              Values.TEXT.described("the one it ran in, by its name"),
              ended -> ended.state().context().name().orElseThrow())
          .includes(
              CodeAnswers.CELL.only(
                  "number",
                  "state",
                  "durationMillis",
                  "exitCode",
                  "error",
                  "cause",
                  "broken",
                  "lost"),
              Ended::state)
          .has(
              "restarted",
              Values.FLAG.described("whether its interpreter had ended, and is a new one"),
              Ended::isRestarted)
          .has("stdout", ExecReply.STDOUT, Ended::stdout)
          .has("stderr", ExecReply.STDERR, Ended::stderr)
          .has("truncated", ExecReply.TRUNCATED, Ended::isTruncated)
          .may(
              "result",
              FORMS.described("the last expression's value, by media type"),
              ended -> ended.shown().result())
          .has(
              "displays",
              Values.list(FORMS).described("what else was shown"),
              ended -> ended.shown().displays());

  static ObjectSchema<?> schema() {
    return CELL;
  }

  private static Reply reply(
      TenantContext context, Cell cell, Cell.Result result, boolean isRestarted) {
    CellState state = CellState.sent(context, cell, OutputLoss.NONE);
    Excerpt stdout = excerpt(cell.segment().map(Segment::stdout));
    Excerpt stderr = excerpt(cell.segment().map(Segment::stderr));
    Shown shown = shown(cell);
    var ended = new Ended(state, isRestarted, stdout, stderr, shown);
    String text =
        head(context, cell, result)
            + (isRestarted ? "; the interpreter was started anew: earlier variables are gone" : "")
            + block("stdout", stdout)
            + block("stderr", stderr)
            + ExecReply.lost(state.lost())
            + cell.thrown().map(thrown -> "\nerror:\n" + thrown.traceback()).orElse("")
            + shown.text();
    return new Reply(text, CELL.write(ended), shown.pictures());
  }

  private static String head(TenantContext context, Cell cell, Cell.Result result) {
    var text = new StringBuilder();
    text.append("cell %d of context %s".formatted(cell.number(), context.name().orElseThrow()));
    text.append(", after %d ms".formatted(result.took().toMillis()));
    if (context.order().runner().hasStatus() && result.cause().isEmpty()) {
      text.append(", exit code ").append(result.status());
    }
    result
        .cause()
        .ifPresent(
            cause ->
                text.append(
                    ("; its interpreter ended (%s, exit code %d): variables are gone, the next call"
                            + " starts another")
                        .formatted(cause.status(), cause.code())));
    return text.toString();
  }

  private static Excerpt excerpt(Optional<OutputLog> log) {
    return log.map(each -> Excerpt.of(each, 0, ExecReply.OUTPUT)).orElse(Excerpt.NOTHING);
  }

  private static String block(String name, Excerpt some) {
    String text = some.text().isEmpty() ? "" : "\n" + name + ":\n" + some.text();
    return some.isCut()
        ? text + "\n[%s was longer: %d bytes in all]".formatted(name, some.size())
        : text;
  }

  private static Shown shown(Cell cell) {
    var pictures = new ArrayList<Reply.Picture>();
    var displays = new ArrayList<Map<String, Object>>();
    Optional<Map<String, Object>> result = Optional.empty();
    var text = new StringBuilder();
    boolean isCut = false;
    int left = SHOWN_MOST;
    for (Cell.Shown each : cell.shown(0)) {
      var forms = new LinkedHashMap<String, Object>();
      for (var form : each.forms().entrySet()) {
        int most = Math.clamp(left, 0, FORM_MOST);
        int size = addForm(form.getKey(), form.getValue(), most, forms, pictures);
        left -= Math.min(size, most) + OVERHEAD;
        isCut |= size > most || left <= 0;
      }
      if (left <= 0) {
        text.append("\n[further output is omitted]");
        break;
      }
      if (each.isResult()) {
        result = Optional.of(forms);
      } else {
        displays.add(forms);
      }
      if (forms.get("text/plain") instanceof Map<?, ?> plain) {
        text.append(each.isResult() ? "\nresult: " : "\ndisplay: ").append(plain.get("text"));
      }
    }
    return new Shown(result, displays, pictures, text.toString(), isCut);
  }

  /** Adds pictures as such, everything else as text; returns the length of the text. */
  private static int addForm(
      String type,
      byte[] bytes,
      int most,
      Map<String, Object> forms,
      List<Reply.Picture> pictures) {
    Optional<String> picture = Images.type(bytes);
    if (picture.isPresent() && bytes.length <= Images.MOST) {
      pictures.add(new Reply.Picture(picture.get(), bytes));
    } else if (!type.startsWith("image/") || type.equals("image/svg+xml")) {
      int length = Math.min(bytes.length, most);
      forms.put(type, Map.of("text", new String(bytes, 0, length, StandardCharsets.UTF_8)));
      return bytes.length;
    }
    return 0;
  }
}
