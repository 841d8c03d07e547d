package dev.ebb.client;

import dev.ebb.client.json.JsonObject;
import java.util.Map;

/** A context that is wanted; what is not said is left to the daemon. Immutable. */
public final class ContextRequest {
  private final JsonObject document;

  private ContextRequest(JsonObject document) {
    this.document = document;
  }

  /**
   * Of a language.
   *
   * @param language python, javascript or bash, or an alias
   */
  public static ContextRequest of(String language) {
    return new ContextRequest(JsonObject.empty().with("language", language));
  }

  /** By which it can be found, beside its id. */
  public ContextRequest withName(String name) {
    return new ContextRequest(document.with("name", name));
  }

  public ContextRequest withEnvironment(Map<String, String> environment) {
    return new ContextRequest(document.with("environment", JsonObject.ofStrings(environment)));
  }

  public ContextRequest withWorkdir(String workdir) {
    return new ContextRequest(document.with("workdir", workdir));
  }

  /** Of the output of each cell; what is above it is thrown away. */
  public ContextRequest withOutputLimit(long bytes) {
    return new ContextRequest(document.with("outputLimitBytes", bytes));
  }

  JsonObject document() {
    return document;
  }
}
