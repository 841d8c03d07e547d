package dev.ebb.cli.output;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/**
 * Our own stdout. A {@link PrintStream} keeps failures to itself; this remembers the first, so that
 * what could not be written is no success.
 */
public final class OwnOutput extends OutputStream {
  private final OutputStream out = new FileOutputStream(FileDescriptor.out);
  private volatile @Nullable IOException failure;

  private OwnOutput() {}

  /** Has all that is printed from now on go through it. */
  public static OwnOutput install() {
    var own = new OwnOutput();
    System.setOut(new PrintStream(new BufferedOutputStream(own), true, System.out.charset()));
    return own;
  }

  /** The reader of the output has gone, which is no failure of this program. */
  public static boolean isReaderGone(IOException e) {
    return String.valueOf(e.getMessage()).contains("Broken pipe");
  }

  public static String words(IOException e) {
    return "cannot write the output: " + e.getMessage();
  }

  /** The code to end with. */
  public int judge(int code) {
    System.out.flush();
    IOException first = failure;
    if (first == null || isReaderGone(first)) {
      return code;
    }
    System.err.println("ebb: " + words(first));
    return ExitCode.OWN_FAILURE;
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
