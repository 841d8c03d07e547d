package dev.ebb.client.http;

import java.io.IOException;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A body in chunks. */
final class ChunkedInput extends ResponseInput {
  private static final int MAX_LINE = 1024;
  private static final Pattern SIZE = Pattern.compile("([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?");

  private final Connection connection;
  private long left;
  private boolean begun;

  ChunkedInput(Connection connection, Duration patience, Runnable giveBack) {
    super(connection, patience, giveBack);
    this.connection = connection;
  }

  @Override
  int readSome(byte[] buffer, int offset, int length, Deadline deadline) throws IOException {
    if (left == 0) {
      left = nextSize(deadline);
      if (left == 0) {
        ResponseHead.headers(connection, ResponseHead.MAX_BYTES, deadline);
        return -1;
      }
    }
    int n = connection.read(buffer, offset, (int) Math.min(length, left), deadline);
    if (n < 0) {
      throw connection.cutShort("within a chunk, " + left + " bytes before its end");
    }
    left -= n;
    return n;
  }

  private long nextSize(Deadline deadline) throws IOException {
    if (begun && !connection.line("the end of a chunk", MAX_LINE, deadline).isEmpty()) {
      throw connection.malformed("a chunk longer than its size");
    }
    begun = true;
    Matcher size = SIZE.matcher(connection.line("a chunk size", MAX_LINE, deadline));
    if (!size.matches()) {
      throw connection.malformed("a bad chunk size");
    }
    return Long.parseLong(size.group(1), 16);
  }
}
