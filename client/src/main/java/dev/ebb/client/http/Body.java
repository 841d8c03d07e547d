package dev.ebb.client.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The body of a request. */
public interface Body {
  /** No body, and no header about one. */
  Body NONE = of("", new byte[0]);

  /** Returns the media type; empty for none. */
  String type();

  /** Returns the length in bytes; negative if unknown. */
  long length();

  /** Returns whether the body can be written a second time. */
  boolean isRepeatable();

  void writeTo(OutputStream out) throws IOException;

  static Body of(String type, byte[] bytes) {
    return new Body() {
      @Override
      public String type() {
        return type;
      }

      @Override
      public long length() {
        return bytes.length;
      }

      @Override
      public boolean isRepeatable() {
        return true;
      }

      @Override
      public void writeTo(OutputStream out) throws IOException {
        out.write(bytes);
      }
    };
  }

  /**
   * Makes a body that sends everything that {@code in} holds, each piece as soon as it was read.
   */
  static Body of(String type, InputStream in) {
    return new StreamBody(type, in);
  }
}
