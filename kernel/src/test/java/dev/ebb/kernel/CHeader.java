package dev.ebb.kernel;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** The numbers that a C header defines. */
final class CHeader {
  private static final Pattern DEFINE =
      Pattern.compile("^#define\\s+(\\w+)\\s+(\\d+)\\b", Pattern.MULTILINE);

  private CHeader() {}

  static Map<String, Integer> numbers(Path header) throws IOException {
    var numbers = new HashMap<String, Integer>();
    var matcher = DEFINE.matcher(Files.readString(header));
    while (matcher.find()) {
      numbers.put(matcher.group(1), Integer.valueOf(matcher.group(2)));
    }
    return numbers;
  }
}
