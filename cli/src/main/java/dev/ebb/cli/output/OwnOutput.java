package dev.ebb.cli.output;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Our own stdout. A {@link java.io.PrintStream} keeps failures to itself; this remembers the first,
 * so that what could not be written is no success.
 */
public final class OwnOutput extends OutputStream {
  private final OutputStream out;
  private volatile @Nullable IOException failure;

  public OwnOutput(OutputStream out) {
    this.out = out;
  }

  /** The reader of the output has gone, which is no failure of this program. */
  public static boolean isReaderGone(IOException e) {
    return String.valueOf(e.getMessage()).contains("Broken pipe");
  }

  public static String words(IOException e) {
    return "cannot write the output: " + e.getMessage();
  }

  /** The first failure, unless the reader has gone. */
  public Optional<IOException> failure() {
    return Optional.ofNullable(failure).filter(e -> !isReaderGone(e));
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    try {
      out.write(bytes, offset, length);
    } catch (IOException e) {
      if (failure == null) {
        failure = e;
      }
      throw e;
    }
  }
}
