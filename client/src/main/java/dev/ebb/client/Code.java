package dev.ebb.client;

import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Code to run, in a box of its own unless a context is named; the daemon has defaults for what is
 * not set. Immutable.
 */
public final class Code {
  private final JsonObject document;

  private Code(JsonObject document) {
    this.document = document;
  }

  /**
   * Makes code in a language.
   *
   * @param language a name or an alias, see {@link EbbClient#languages}
   */
  public static Code of(String language, String code) {
    return new Code(JsonObject.empty().with("language", language).with("code", code));
  }

  /**
   * Makes code for a context of a box, which has a language already; see {@link EbbClient#runRich}.
   */
  public static Code inContext(String box, String context, String code) {
    var place = JsonObject.empty().with("box", box).with("id", context);
    return new Code(JsonObject.empty().with("context", place).with("code", code));
  }

  public Code withArguments(String... arguments) {
    return withArguments(List.of(arguments));
  }

  public Code withArguments(List<String> arguments) {
    return new Code(document.with("args", List.copyOf(arguments)));
  }

  /** Sets the whole stdin of the code. */
  public Code withStdin(Output input) {
    return new Code(document.with("stdin", input.document()));
  }

  /** Adds a file beside the code. */
  public Code withFile(String path, Output content) {
    var files = new ArrayList<Object>();
    if (document.members().get("files") instanceof List<?> before) {
      files.addAll(before);
    }
    files.add(JsonObject.empty().with("path", path).with("content", content.document()));
    return new Code(document.with("files", files));
  }

  /** Sets globs for the files that the code writes: matching files come back with their content. */
  public Code withOutputs(String... globs) {
    return withOutputs(List.of(globs));
  }

  public Code withOutputs(List<String> globs) {
    return new Code(document.with("outputs", List.copyOf(globs)));
  }

  /** Sets the time limit of the run; zero for none, if the server allows that. */
  public Code withTimeout(Duration timeout) {
    return new Code(document.with("timeoutMillis", timeout.toMillis()));
  }

  /** Sets limits, network, mounts and packages of the box. */
  public Code withBox(BoxRequest box) {
    return new Code(document.with("box", Documents.unlessEmpty(box.document())));
  }

  public Code withLimits(Limits limits) {
    return withBox(BoxRequest.defaults().withLimits(limits));
  }

  /** Runs the code in an interpreter that reports values and figures. */
  Code rich() {
    return document.has("context") ? this : new Code(document.with("rich", true));
  }

  JsonObject document() {
    return document;
  }
}
