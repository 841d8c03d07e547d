package dev.ebb.model;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** The id of a box, safe in a path and on a command line. */
public record BoxId(String value) {
  private static final Pattern FORM = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

  public BoxId {
    if (!FORM.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "bad box id \"" + value + "\": use up to 63 of a-z, 0-9 and -, not starting with -");
    }
  }

  public static BoxId random() throws KernelException {
    return new BoxId("b" + HexFormat.of().formatHex(Self.randomBytes(6)));
  }

  @Override
  public String toString() {
    return value;
  }
}
