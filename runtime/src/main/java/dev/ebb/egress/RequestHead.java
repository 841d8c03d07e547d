package dev.ebb.egress;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.ebb.egress.Decision.Outcome;
import dev.ebb.egress.HeadLine.Field;
import dev.ebb.model.Destination;
import dev.ebb.model.HostName;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The head of one request to a proxy, understood in the one way there is to understand it, or
 * refused: what two readers could read differently (two lengths, a folded line, a bare line feed, a
 * Host that is not the target's) is no request.
 *
 * @param length of its body; negative: it has none
 * @param forwarded what a server is to be sent instead of it; empty for a tunnel
 */
record RequestHead(boolean isTunnel, Destination destination, long length, String forwarded) {
  private static final int MOST_LINES = 128;
  private static final String SCHEME = "http://";
  private static final int LENGTH_DIGITS = 18;
  private static final int PORT_DIGITS = 5;

  /** Headers that concern one hop only; the proxy writes Host and Content-Length itself. */
  private static final Set<String> OURS =
      Set.of(
          "host",
          "content-length",
          "connection",
          "proxy-connection",
          "keep-alive",
          "proxy-authorization",
          "proxy-authenticate",
          "te",
          "trailer",
          "upgrade");

  private record Authority(HostName name, Optional<Integer> port) {}

  /**
   * Where the head ends, right behind its empty line; -1: not yet.
   *
   * @param from where to look on, which was looked at up to there
   */
  static int end(byte[] bytes, int from, int size) throws RefusedException {
    for (int at = from; at < size; at++) {
      boolean isFeed = bytes[at] == '\n';
      boolean followsReturn = at > 0 && bytes[at - 1] == '\r';
      if (isFeed != followsReturn || bytes[at] == 0) {
        throw RefusedException.malformed("a line ends with CR LF and holds neither, nor NUL");
      }
      if (isFeed && at >= 3 && bytes[at - 2] == '\n') {
        return at + 1;
      }
    }
    return -1;
  }

  static RequestHead parse(byte[] bytes, int end) throws RefusedException {
    String[] lines = new String(bytes, 0, end - 4, ISO_8859_1).split("\r\n", -1);
    if (lines.length > MOST_LINES) {
      throw new RefusedException(Outcome.MALFORMED, 431, "more than " + MOST_LINES + " fields");
    }
    HeadLine.Request request = HeadLine.request(lines[0]);
    var fields = new ArrayList<Field>();
    for (String line : List.of(lines).subList(1, lines.length)) {
      fields.add(HeadLine.field(line));
    }
    return request.method().equals("CONNECT")
        ? tunnel(request.target(), fields, request.isFirstMinor())
        : request(request, fields);
  }

  private static RequestHead tunnel(String target, List<Field> fields, boolean mustNameHost)
      throws RefusedException {
    Authority authority = authority(target);
    int port =
        authority
            .port()
            .orElseThrow(() -> RefusedException.malformed("CONNECT needs a name and a port"));
    checkHost(fields, authority.name(), port, mustNameHost);
    if (length(fields) > 0) {
      throw RefusedException.malformed("CONNECT has no body");
    }
    return new RequestHead(true, new Destination(authority.name(), port), -1, "");
  }

  private static RequestHead request(HeadLine.Request line, List<Field> fields)
      throws RefusedException {
    String target = line.target();
    int path = pathOf(target);
    Authority authority = authority(target.substring(SCHEME.length(), path));
    int port = authority.port().orElse(80);
    checkHost(fields, authority.name(), port, line.isFirstMinor());
    long length = length(fields);
    var destination = new Destination(authority.name(), port);
    String text = forwarded(line, path(target.substring(path)), destination, fields, length);
    return new RequestHead(false, destination, length, text);
  }

  /** Where the path begins in a target that is a whole URL. */
  private static int pathOf(String target) throws RefusedException {
    int path = SCHEME.length();
    while (path < target.length() && "/?#@".indexOf(target.charAt(path)) < 0) {
      path++;
    }
    boolean isAbsolute = target.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
    if (!isAbsolute || target.startsWith("@", path) || target.indexOf('#') >= 0) {
      throw RefusedException.malformed(
          "this is a proxy: it takes CONNECT name:port, and http:// with a name");
    }
    return path;
  }

  /** The head as the server gets it. */
  private static String forwarded(
      HeadLine.Request line, String path, Destination to, List<Field> fields, long length) {
    var text = new StringBuilder(line.method()).append(' ').append(path);
    text.append(line.isFirstMinor() ? " HTTP/1.1" : " HTTP/1.0");
    text.append("\r\nHost: ").append(to.name());
    if (to.port() != 80) {
      text.append(':').append(to.port());
    }
    text.append("\r\n");
    Set<String> dropped = dropped(fields);
    for (Field field : fields) {
      if (!dropped.contains(field.name().toLowerCase(Locale.ROOT))) {
        text.append(field.name()).append(": ").append(field.value()).append("\r\n");
      }
    }
    if (length >= 0) {
      text.append("Content-Length: ").append(length).append("\r\n");
    }
    return text.append("Connection: close\r\n\r\n").toString();
  }

  private static String path(String path) {
    return path.startsWith("/") ? path : "/" + path;
  }

  /** With what Connection names: it is meant for us. */
  private static Set<String> dropped(List<Field> fields) {
    var dropped = new HashSet<>(OURS);
    for (Field field : fields) {
      if (field.is("connection")) {
        for (String name : field.value().split(",", -1)) {
          dropped.add(name.strip().toLowerCase(Locale.ROOT));
        }
      }
    }
    return dropped;
  }

  private static Authority authority(String text) throws RefusedException {
    int colon = text.startsWith("[") ? -1 : text.indexOf(':');
    String host = colon < 0 ? text : text.substring(0, colon);
    String port = colon < 0 ? "" : text.substring(colon + 1);
    if (colon >= 0 && !HeadLine.isNumber(port, PORT_DIGITS)) {
      throw RefusedException.malformed("the target is no name and port");
    }
    if (HostName.isAddress(host)) {
      throw new RefusedException(
          Outcome.LITERAL, 403, "an address cannot be reached from this box, only names");
    }
    Optional<Integer> number = port.isEmpty() ? Optional.empty() : Optional.of(port(port));
    try {
      return new Authority(HostName.ofAscii(host), number);
    } catch (IllegalArgumentException e) {
      throw RefusedException.malformed("the target is no domain name");
    }
  }

  private static int port(String digits) throws RefusedException {
    int number = Integer.parseInt(digits);
    if (number < 1 || number > 65_535) {
      throw RefusedException.malformed("a port is a number from 1 to 65535");
    }
    return number;
  }

  /** A server that believes Host must not be led elsewhere than one that believes the target. */
  private static void checkHost(List<Field> fields, HostName name, int port, boolean mustNameHost)
      throws RefusedException {
    List<Field> hosts = fields.stream().filter(field -> field.is("host")).toList();
    if (hosts.size() > 1 || (mustNameHost && hosts.isEmpty())) {
      throw RefusedException.malformed("a request has one Host");
    }
    if (!hosts.isEmpty()) {
      Authority host = authority(hosts.getFirst().value());
      if (!host.name().equals(name) || host.port().orElse(port) != port) {
        throw RefusedException.malformed("Host is not the host of the target");
      }
    }
  }

  /** Returns the length of the body; -1 if the head has none. */
  private static long length(List<Field> fields) throws RefusedException {
    List<Field> lengths = fields.stream().filter(field -> field.is("content-length")).toList();
    boolean isEncoded = fields.stream().anyMatch(field -> field.is("transfer-encoding"));
    boolean isLength =
        lengths.size() == 1 && HeadLine.isNumber(lengths.getFirst().value(), LENGTH_DIGITS);
    if (!lengths.isEmpty() && (isEncoded || !isLength)) {
      throw RefusedException.malformed("a request has one length");
    }
    if (isEncoded) {
      // How long it is two readers may see differently.
      throw new RefusedException(
          Outcome.MALFORMED, 411, "send the body with a Content-Length, or over https");
    }
    return lengths.isEmpty() ? -1 : Long.parseLong(lengths.getFirst().value());
  }
}
