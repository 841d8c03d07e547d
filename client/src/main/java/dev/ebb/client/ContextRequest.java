package dev.ebb.client;

import dev.ebb.json.JsonObject;
import java.util.Map;

/** A request for a context; the daemon has defaults for what is not set. Immutable. */
public final class ContextRequest {
  private final JsonObject document;

  private ContextRequest(JsonObject document) {
    this.document = document;
  }

  /**
   * Makes a request.
   *
   * @param language python, javascript or bash, or an alias
   */
  public static ContextRequest of(String language) {
    return new ContextRequest(JsonObject.empty().with("language", language));
  }

  /** Sets a name, which works like the id. */
  public ContextRequest withName(String name) {
    return new ContextRequest(document.with("name", name));
  }

  public ContextRequest withEnvironment(Map<String, String> environment) {
    return new ContextRequest(document.with("environment", JsonObject.ofStrings(environment)));
  }

  public ContextRequest withWorkdir(String workdir) {
    return new ContextRequest(document.with("workdir", workdir));
  }

  /** Sets the limit of the output of each cell; output above it is discarded. */
  public ContextRequest withOutputLimit(long bytes) {
    return new ContextRequest(document.with("outputLimitBytes", bytes));
  }

  JsonObject document() {
    return document;
  }
}
