package dev.ebb.client;

import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.Map;

/** Code for a context; the daemon has defaults for what is not set. Immutable. */
public final class CellRequest {
  private final JsonObject document;

  private CellRequest(JsonObject document) {
    this.document = document;
  }

  public static CellRequest of(String code) {
    return new CellRequest(JsonObject.empty().with("code", code));
  }

  /** Sets environment variables for the time of the cell. */
  public CellRequest withEnvironment(Map<String, String> environment) {
    return new CellRequest(document.with("environment", JsonObject.ofStrings(environment)));
  }

  /**
   * Sets the time after which the cell is interrupted; zero for none, if the server allows that.
   */
  public CellRequest withTimeout(Duration timeout) {
    return new CellRequest(document.with("timeoutMillis", timeout.toMillis()));
  }

  /** Sets the time between the interrupt and the end of the interpreter. */
  public CellRequest withGrace(Duration grace) {
    return new CellRequest(document.with("graceMillis", grace.toMillis()));
  }

  JsonObject document() {
    return document;
  }
}
