package dev.ebb.mcp;

import dev.ebb.code.Cell;
import dev.ebb.code.Runner;
import dev.ebb.code.Written;
import dev.ebb.exec.OutputLog;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
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

/** Code in an interpreter that is known by a name and keeps its state from call to call. */
final class ContextCode {
  /** Of one form of what is shown, as a model reads it. */
  private static final int FORM_MOST = 64 * 1024;

  /** Of all that is shown, but for pictures. */
  private static final int SHOWN_MOST = 4 * FORM_MOST;

  /** Of each form, beside its bytes. */
  private static final int OVERHEAD = 64;

  private final Workplace workplace;

  ContextCode(Workplace workplace) {
    this.workplace = workplace;
  }

  /** What came of it: for a model, for a program, and the pictures that it showed and wrote. */
  record Told(Reply reply, String outcome, Written written) {}

  Told run(Call call, TenantBox box, String name, Runner runner, CellTask task)
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
              return new Told(
                  reply(context, run.cell(), result, isRestarted),
                  result.outcome().word(),
                  run.written(call));
            });
  }

  /** The one of this name, which is made when it is first asked for. */
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
              .formatted(name, context.order().runner().word(), runner.word()));
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

  // --- what is told ---

  private static Reply reply(
      TenantContext context, Cell cell, Cell.Result result, boolean isRestarted) {
    String name = context.name().orElseThrow();
    var structured =
        Reply.object(
            "box", context.box().id(),
            "process", context.exec().number(),
            "running", false,
            "context", name,
            "contextState", context.state().word(),
            "restarted", isRestarted,
            "durationMillis", result.took().toMillis());
    var text = new StringBuilder();
    text.append("cell %d of context %s".formatted(cell.number(), name));
    text.append(", after %d ms".formatted(result.took().toMillis()));
    if (context.order().runner().hasStatus() && result.cause().isEmpty()) {
      structured.put("exitCode", result.status());
      text.append(", exit code ").append(result.status());
    }
    result
        .cause()
        .ifPresent(
            cause -> {
              structured.put("status", cause.status());
              structured.put("exitCode", cause.code());
              text.append(
                  "; its interpreter ended (%s, exit code %d): variables are gone, the next call"
                      .formatted(cause.status(), cause.code()));
              text.append(" starts another");
            });
    if (isRestarted) {
      text.append("; the interpreter was started anew: earlier variables are gone");
    }
    boolean isCut = cell.isCut();
    isCut |= add("stdout", cell.segment().map(out -> out.stdout()), structured, text);
    isCut |= add("stderr", cell.segment().map(out -> out.stderr()), structured, text);
    structured.put("truncated", isCut);
    text.append(ExecReply.addLoss(structured, cell.loss()));
    addError(cell, structured, text);
    List<Reply.Picture> pictures = addShown(cell, structured, text);
    return new Reply(text.toString(), structured, pictures);
  }

  /** True when there is more. */
  private static boolean add(
      String name, Optional<OutputLog> log, Map<String, Object> structured, StringBuilder text) {
    Excerpt some =
        log.map(each -> Excerpt.of(each, 0, ExecReply.OUTPUT)).orElse(new Excerpt("", 0, 0));
    structured.put(name, some.text());
    if (!some.text().isEmpty()) {
      text.append("\n").append(name).append(":\n").append(some.text());
    }
    if (some.isCut()) {
      text.append("\n[%s was longer: %d bytes in all]".formatted(name, some.size()));
    }
    return some.isCut();
  }

  private static void addError(Cell cell, Map<String, Object> structured, StringBuilder text) {
    cell.thrown()
        .ifPresent(
            thrown -> {
              structured.put(
                  "error",
                  Reply.object(
                      "name", thrown.name(),
                      "value", thrown.value(),
                      "traceback", thrown.traceback()));
              text.append("\nerror:\n").append(thrown.traceback());
            });
  }

  private static List<Reply.Picture> addShown(
      Cell cell, Map<String, Object> structured, StringBuilder text) {
    var pictures = new ArrayList<Reply.Picture>();
    var displays = new ArrayList<Map<String, Object>>();
    int left = SHOWN_MOST;
    for (Cell.Shown each : cell.shown(0)) {
      var forms = new LinkedHashMap<String, Object>();
      for (var form : each.forms().entrySet()) {
        int most = Math.clamp(left, 0, FORM_MOST);
        int told = addForm(form.getKey(), form.getValue(), most, forms, pictures);
        left -= Math.min(told, most) + OVERHEAD;
        if (told > most || left <= 0) {
          structured.put("truncated", true);
        }
      }
      if (left <= 0) {
        text.append("\n[more was shown than is told]");
        break;
      }
      if (each.isResult()) {
        structured.put("result", forms);
      } else {
        displays.add(forms);
      }
      if (forms.get("text/plain") instanceof String plain) {
        text.append(each.isResult() ? "\nresult: " : "\ndisplay: ").append(plain);
      }
    }
    structured.put("displays", displays);
    return pictures;
  }

  /** Pictures are shown as such, all else as text; how much there was of that. */
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
      forms.put(type, new String(bytes, 0, length, StandardCharsets.UTF_8));
      return bytes.length;
    }
    return 0;
  }
}
