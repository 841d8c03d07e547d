package dev.ebb.client;

import java.util.Locale;

/** One of the two streams of a command. */
public enum OutputStreamName {
  STDOUT,
  STDERR;

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
