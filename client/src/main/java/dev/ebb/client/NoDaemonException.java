package dev.ebb.client;

import java.io.IOException;

/** No daemon answers at the address. */
public final class NoDaemonException extends IOException {
  private static final long serialVersionUID = 1L;

  NoDaemonException(String message, Throwable cause) {
    super(message, cause);
  }
}
