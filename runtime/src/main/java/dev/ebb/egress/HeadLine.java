package dev.ebb.egress;

/**
 * The lines of a head, each read by hand in one pass: no byte is looked at again, whatever a box
 * sends.
 */
final class HeadLine {
  private static final String TOKEN_MARKS = "!#$%&'*+.^_`|~-";

  private HeadLine() {}

  /** The first line of a request. */
  record Request(String method, String target, boolean isFirstMinor) {}

  /** One field. */
  record Field(String name, String value) {
    boolean is(String other) {
      return name.equalsIgnoreCase(other);
    }
  }

  static Request request(String line) throws RefusedException {
    int method = token(line);
    int target = method + 1;
    while (target < line.length() && isVisible(line.charAt(target))) {
      target++;
    }
    boolean isWhole =
        method > 0
            && line.startsWith(" ", method)
            && target > method + 1
            && line.startsWith(" HTTP/1.", target)
            && line.length() == target + 9
            && (line.endsWith("0") || line.endsWith("1"));
    if (!isWhole) {
      throw RefusedException.malformed("this is no request line of HTTP/1.1");
    }
    return new Request(
        line.substring(0, method), line.substring(method + 1, target), line.endsWith("1"));
  }

  static Field field(String line) throws RefusedException {
    int colon = token(line);
    if (colon == 0 || !line.startsWith(":", colon)) {
      throw malformedField();
    }
    int begin = -1;
    int end = colon + 1;
    for (int at = colon + 1; at < line.length(); at++) {
      char c = line.charAt(at);
      if (isVisible(c) || (c >= 0x80 && c <= 0xff)) {
        begin = begin < 0 ? at : begin;
        end = at + 1;
      } else if (c != ' ' && c != '\t') {
        throw malformedField();
      }
    }
    return new Field(line.substring(0, colon), begin < 0 ? "" : line.substring(begin, end));
  }

  private static RefusedException malformedField() {
    return RefusedException.malformed("a field is a name, a colon and a value on one line");
  }

  /** Returns the end of the token at the start of the line. */
  private static int token(String line) {
    int at = 0;
    while (at < line.length() && isTokenCharacter(line.charAt(at))) {
      at++;
    }
    return at;
  }

  private static boolean isTokenCharacter(char c) {
    return (c >= '0' && c <= '9')
        || (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || TOKEN_MARKS.indexOf(c) >= 0;
  }

  private static boolean isVisible(char c) {
    return c >= '!' && c <= '~';
  }

  /** Returns whether the text is 1 to {@code most} digits. */
  static boolean isNumber(String text, int most) {
    if (text.isEmpty() || text.length() > most) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }
}
