package dev.ebb.cli.output;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Text for a terminal. Names, messages, logs and errors may quote a box, and a hostile box could
 * control the terminal: clear it, rename its window, type into it. So all output of this program
 * goes through this class, which shows a control character as {@code \\u001b}; in JSON this is
 * still the same character. Only the output of a command in the foreground is passed on unchanged.
 */
public final class Plain extends OutputStream {
  private static final int CHUNK = 8 * 1024;

  private final OutputStream to;
  private final Charset charset;
  private final boolean keepsReturns;
  private final CharsetDecoder decoder =
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .onUnmappableCharacter(CodingErrorAction.REPLACE);
  private ByteBuffer pending = ByteBuffer.allocate(CHUNK);

  private Plain(OutputStream to, Charset charset, boolean keepsReturns) {
    this.to = to;
    this.charset = charset;
    this.keepsReturns = keepsReturns;
  }

  /** Prints plainly to {@code to}, in its own encoding. */
  public static PrintStream printer(OutputStream to, Charset charset) {
    return new PrintStream(new Plain(to, charset, false), true, StandardCharsets.UTF_8);
  }

  /**
   * For what a command wrote once: as it is into a file or a pipe; on a terminal, which the command
   * never had, a carriage return is the only control it keeps.
   */
  public static OutputStream log(OutputStream to, boolean isTerminal) {
    return isTerminal ? new Plain(to, StandardCharsets.UTF_8, true) : to;
  }

  /** Replaces each character that a terminal might obey by a question mark. */
  static String cell(String text) {
    var clean = new StringBuilder(text.length());
    text.codePoints().forEach(c -> clean.appendCodePoint(c < ' ' || isUnsafe(c) ? '?' : c));
    return clean.toString();
  }

  /** Controls of both sets, and those that change the direction of what follows. */
  private static boolean isUnsafe(int c) {
    return (c < ' ' && c != '\n' && c != '\t')
        || (c >= 0x7f && c <= 0x9f)
        || (c >= 0x202a && c <= 0x202e)
        || (c >= 0x2066 && c <= 0x2069);
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
    for (int done = 0; done < length; ) {
      int n = Math.min(length - done, pending.remaining());
      pending.put(bytes, offset + done, n);
      done += n;
      pass(false);
    }
  }

  /** Passes complete characters on; an incomplete one stays pending. */
  private void pass(boolean isEnd) throws IOException {
    CharBuffer text = CharBuffer.allocate(CHUNK + 2);
    decoder.decode(pending.flip(), text, isEnd);
    pending.compact();
    to.write(clean(text.flip()).getBytes(charset));
    requireWritten();
  }

  /** A {@link PrintStream} hides failures, and its user would go on for ever. */
  private void requireWritten() throws IOException {
    if (to instanceof PrintStream stream && stream.checkError()) {
      throw new IOException("cannot be written");
    }
  }

  private String clean(CharSequence text) {
    var clean = new StringBuilder(text.length());
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (isUnsafe(c) && !(keepsReturns && c == '\r')) {
        clean.append("\\u%04x".formatted((int) c));
      } else {
        clean.append(c);
      }
    }
    return clean.toString();
  }

  @Override
  public synchronized void flush() throws IOException {
    to.flush();
  }

  @Override
  public synchronized void close() throws IOException {
    pass(true);
    to.close();
  }
}
