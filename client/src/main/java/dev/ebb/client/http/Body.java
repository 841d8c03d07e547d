package dev.ebb.client.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** What a request carries. */
public interface Body {
  /** Nothing, and no word about it. */
  Body NONE = of("", new byte[0]);

  /** Its media type; empty for none. */
  String type();

  /** Its length in bytes; negative if unknown. */
  long length();

  /** Whether it can be written a second time. */
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

  /** Sends everything that can be read, each piece as soon as it was read. */
  static Body of(String type, InputStream in) {
    return new StreamBody(type, in);
  }
}
