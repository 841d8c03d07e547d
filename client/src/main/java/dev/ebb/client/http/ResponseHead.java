package dev.ebb.client.http;

import java.io.IOException;
import java.net.ProtocolException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Status line and header fields of an answer. */
record ResponseHead(int status, boolean keepsAlive, Headers headers) {
  static final int MAX_BYTES = 64 * 1024;
  private static final int MAX_INTERIM = 10;
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.([01]) ([1-9]\\d\\d)(?: .*)?");
  private static final Pattern LENGTH = Pattern.compile("\\d{1,18}");

  /** Reads the final head, and skips interim ones before it. */
  static ResponseHead read(Connection connection, Deadline deadline) throws IOException {
    for (int i = 0; i <= MAX_INTERIM; i++) {
      ResponseHead head = readOne(connection, deadline);
      if (head.status >= 200 || head.status == 101) {
        return head;
      }
    }
    throw connection.malformed("more than " + MAX_INTERIM + " interim answers");
  }

  private static ResponseHead readOne(Connection connection, Deadline deadline) throws IOException {
    String first = connection.line("a status line", MAX_BYTES, deadline);
    Matcher status = STATUS.matcher(first);
    if (!status.matches()) {
      throw connection.malformed("a response that is not HTTP/1: \"" + excerpt(first) + "\"");
    }
    Headers headers = headers(connection, MAX_BYTES - first.length(), deadline);
    boolean keeps = status.group(1).equals("1") && !headers.lists("Connection", "close");
    return new ResponseHead(Integer.parseInt(status.group(2)), keeps, headers);
  }

  private static String excerpt(String line) {
    String start = line.length() > 40 ? line.substring(0, 40) + "…" : line;
    return start.replaceAll("[^ -~…]", "?");
  }

  /** Reads fields up to the empty line; used for trailers, too. */
  static Headers headers(Connection connection, int limit, Deadline deadline) throws IOException {
    var parser = new Headers.Parser();
    int left = limit;
    while (true) {
      String line = connection.line("header fields", left, deadline);
      if (line.isEmpty()) {
        return parser.done();
      }
      left -= line.length();
      try {
        parser.line(line);
      } catch (ProtocolException e) {
        throw connection.malformed("a malformed header line: \"" + excerpt(line) + "\"");
      }
    }
  }

  boolean isChunked(Connection connection) throws ProtocolException {
    List<String> codings = headers.all("Transfer-Encoding");
    if (codings.isEmpty()) {
      return false;
    }
    if (codings.size() > 1 || !codings.get(0).equalsIgnoreCase("chunked")) {
      throw connection.malformed("a body in a coding that was not requested: " + codings);
    }
    if (headers.first("Content-Length").isPresent()) {
      throw connection.malformed("two lengths of one body");
    }
    return true;
  }

  /** Returns a negative length when the body lasts until the connection ends. */
  long length(Connection connection) throws ProtocolException {
    List<String> lengths = headers.all("Content-Length").stream().distinct().toList();
    if (lengths.isEmpty()) {
      return -1;
    }
    if (lengths.size() > 1 || !LENGTH.matcher(lengths.get(0)).matches()) {
      throw connection.malformed("a bad Content-Length: " + lengths);
    }
    return Long.parseLong(lengths.get(0));
  }
}
