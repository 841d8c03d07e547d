package dev.ebb.cli.front;

import java.io.IOException;
import java.io.OutputStream;

/** Stdout or stderr of a front. */
final class FrontOutput extends OutputStream {
  /** What the front does with what it is sent. */
  interface Answers {
    /** Throws if the front could not write something to the stream. */
    void requireWritten(int stream) throws IOException;

    /** Waits until the front has written, or failed to write, all that it was sent. */
    void awaitWritten() throws IOException;
  }

  private final FrontWire wire;
  private final Answers answers;
  private final int stream;
  private final boolean isRaw;

  /**
   * Makes a stream.
   *
   * @param stream 1 or 2
   * @param isRaw a flush waits until all is written
   */
  FrontOutput(FrontWire wire, Answers answers, int stream, boolean isRaw) {
    this.wire = wire;
    this.answers = answers;
    this.stream = stream;
    this.isRaw = isRaw;
  }

  @Override
  public void write(int one) throws IOException {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    char text = isRaw ? FrontProtocol.DAEMON_OUT : FrontProtocol.DAEMON_TEXT;
    char kind = stream == 1 ? text : FrontProtocol.DAEMON_ERR;
    for (int done = 0; done < length; ) {
      answers.requireWritten(stream);
      int n = Math.min(length - done, FrontProtocol.FRONT_CHUNK);
      wire.send(kind, bytes, offset + done, n);
      done += n;
    }
  }

  @Override
  public void flush() throws IOException {
    if (isRaw) {
      answers.awaitWritten();
      answers.requireWritten(stream);
    }
  }
}
