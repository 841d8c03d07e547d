package dev.ebb.server.rest;

import dev.ebb.code.Languages;
import dev.ebb.code.NewFile;
import dev.ebb.model.CellOrder;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Language;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.OrderFields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.BoxOrder;
import dev.ebb.server.service.CellTask;
import dev.ebb.server.service.access.Caps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Optional;

/**
 * Code as a request orders it to be run by an interpreter that tells values and figures: one that
 * is there, or one of its own.
 *
 * @param language empty: that of the context
 * @param box for an interpreter of its own
 */
record CellCode(
    CellTask task,
    Optional<Language> language,
    Optional<Place> place,
    BoxOrder box,
    boolean certificate) {
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  /** A context, by what its box and it are called. */
  record Place(String box, String context) {}

  /** Whether it is code for an interpreter. */
  static boolean isOrdered(Fields fields) {
    boolean isPlaced = fields.object("context").isPresent();
    boolean isRich = fields.flag("rich");
    if (isPlaced && isRich) {
      throw bad("\"rich\" is for code without a \"context\": in one, all is told anyway");
    }
    return isPlaced || isRich;
  }

  static CellCode parse(Fields fields, Languages languages, Caps caps) {
    isOrdered(fields);
    Optional<Place> place = fields.object("context").map(CellCode::place);
    Optional<Language> language = fields.text("language").map(languages::require);
    if (place.isEmpty() && language.isEmpty()) {
      throw bad("\"language\" is missing");
    }
    var cell =
        new CellOrder(
            fields.text("code").orElseThrow(() -> bad("\"code\" is missing")),
            fields.textMap("environment"),
            fields.limit("timeoutMillis", TIMEOUT, caps.timeout()),
            caps.grace(ExecSpec.DEFAULT_GRACE));
    var files = new ArrayList<NewFile>();
    fields.objects("files").stream().map(Orders::file).forEach(files::add);
    var outputs = OrderFields.outputs(fields.texts("outputs"));
    BoxOrder box = Orders.box(Fields.none(), caps).order();
    boolean certificate = true;
    if (place.isEmpty()) {
      Orders.Ordered own = CodeOrder.box(fields, caps);
      files.addAll(own.files());
      box = own.order();
      certificate = fields.flag("certificate", true);
    }
    fields.end();
    return new CellCode(new CellTask(cell, files, outputs), language, place, box, certificate);
  }

  private static Place place(Fields fields) {
    var place = new Place(required(fields, "box"), required(fields, "id"));
    fields.end();
    return place;
  }

  private static String required(Fields fields, String name) {
    return fields
        .text(name)
        .orElseThrow(() -> bad("\"context." + name + "\" is missing: which one is meant"));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
