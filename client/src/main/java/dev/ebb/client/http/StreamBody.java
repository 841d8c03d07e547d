package dev.ebb.client.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** A body of unknown length that can be sent once. */
record StreamBody(String type, InputStream in) implements Body {
  private static final int PIECE = 32 * 1024;

  @Override
  public long length() {
    return -1;
  }

  @Override
  public boolean isRepeatable() {
    return false;
  }

  @Override
  public void writeTo(OutputStream out) throws IOException {
    byte[] piece = new byte[PIECE];
    for (int n = in.read(piece); n >= 0; n = in.read(piece)) {
      out.write(piece, 0, n);
    }
  }
}
