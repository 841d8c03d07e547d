package dev.ebb.client;

import java.io.IOException;

/** Nobody answers where a daemon should. */
public final class NoDaemonException extends IOException {
  private static final long serialVersionUID = 1L;

  NoDaemonException(String message, Throwable cause) {
    super(message, cause);
  }
}
