package dev.ebb.json;

/** The value {@code null}. */
public enum JsonNull {
  NULL;

  @Override
  public String toString() {
    return "null";
  }
}
