package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.NewFile;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Language;
import dev.ebb.server.http.Field;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.RequestSchema;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.CellTask;
import dev.ebb.server.service.access.Caps;
import java.util.ArrayList;
import java.util.Optional;

/**
 * A request to run code in an interpreter that returns values and figures: in an existing one, or
 * in one made for it.
 *
 * @param language empty: that of the context
 * @param box for an interpreter made for it
 */
record CellCode(CellTask task, Optional<Language> language, Optional<Place> place, BoxOrder box) {
  private static final Field<String> BOX = Field.requiredText("box").described("id or name");
  private static final Field<String> ID =
      Field.requiredText("id").described("id or name of a context of that box");
  private static final RequestSchema PLACE = RequestSchema.inline(BOX, ID);

  static final Field<Optional<Fields>> CONTEXT =
      Field.object("context", PLACE)
          .described(
              "the interpreter that runs it and keeps its state; then without args, stdin,"
                  + " compileTimeoutMillis and box, and the answer is a CellCodeOutcome");
  static final Field<Boolean> RICH =
      Field.flag("rich", false)
          .described(
              "python, javascript and bash: run by an interpreter of its own that tells its"
                  + " value, figures and frames; without args, stdin and compileTimeoutMillis,"
                  + " and the answer is a CellCodeResult");

  /** A context, by its name and that of its box. */
  record Place(String box, String context) {}

  /** Returns whether a request is for an interpreter. */
  static boolean isOrdered(Fields fields) {
    boolean isPlaced = fields.get(CONTEXT).isPresent();
    boolean isRich = fields.get(RICH);
    if (isPlaced && isRich) {
      throw bad("\"rich\" is for code without a \"context\": a context is always rich");
    }
    return isPlaced || isRich;
  }

  static CellCode parse(Fields all, Languages languages, Caps caps) {
    isOrdered(all);
    Optional<Place> place = all.get(CONTEXT).map(CellCode::place);
    Fields fields = all.as(place.isPresent() ? CodeOrder.PLACED : CodeOrder.RICH);
    Optional<Language> language = fields.get(CodeOrder.LANGUAGE).map(languages::require);
    if (place.isEmpty() && language.isEmpty()) {
      throw bad("\"language\" is missing");
    }
    var cell =
        new CellOrder(
            fields.get(CodeOrder.CODE),
            fields.get(CodeOrder.ENVIRONMENT),
            fields.limit(CodeOrder.RUN_TIMEOUT, CodeOrder.TIMEOUT, caps.timeout()),
            caps.grace(ExecSpec.DEFAULT_GRACE));
    var files = new ArrayList<NewFile>();
    fields.get(CodeOrder.FILES).stream().map(Orders::file).forEach(files::add);
    var outputs = OrderFields.outputs(fields.get(OrderFields.OUTPUTS));
    BoxOrder box = Orders.box(Fields.none(), caps).order();
    if (place.isEmpty()) {
      Orders.Ordered own = CodeOrder.box(fields, caps);
      files.addAll(own.files());
      box = own.order();
    }
    fields.end();
    return new CellCode(new CellTask(cell, files, outputs), language, place, box);
  }

  private static Place place(Fields fields) {
    var place = new Place(fields.get(BOX), fields.get(ID));
    fields.end();
    return place;
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
