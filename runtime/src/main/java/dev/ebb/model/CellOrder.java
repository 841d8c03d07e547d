package dev.ebb.model;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Code for a context.
 *
 * @param environment set while the cell runs; restored afterwards
 * @param timeout after which the cell is interrupted; zero for none
 * @param grace between the interrupt and the end of its interpreter
 */
public record CellOrder(
    String code, Map<String, String> environment, Duration timeout, Duration grace) {
  private static final int CODE_MOST = 4 << 20;

  public CellOrder {
    environment = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(environment));
    require(code.length() <= CODE_MOST, "the code is longer than " + CODE_MOST);
    require(code.indexOf('\0') < 0, "the code holds a NUL character");
    require(
        StandardCharsets.UTF_8.newEncoder().canEncode(code), "the code must be whole characters");
    environment.forEach(CellOrder::checkVariable);
    require(!timeout.isNegative() && !grace.isNegative(), "a duration cannot be negative");
  }

  private static void checkVariable(String name, String value) {
    require(
        name.matches("[A-Za-z_][A-Za-z0-9_]*") && value.indexOf('\0') < 0,
        "bad environment variable \"" + name + "\"");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, message);
    }
  }

  /** Encodes the cell for a runner: strings, each followed by a NUL. */
  public byte[] words(String nonce) {
    var words = new ArrayList<String>();
    words.add(nonce);
    words.add(Integer.toString(environment.size()));
    environment.forEach((name, value) -> words.add(name + "=" + value));
    words.add(code);
    return BoxText.encode(String.join("\0", words) + "\0");
  }
}
