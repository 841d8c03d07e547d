package dev.ebb.exec;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Objects;

/**
 * Content of a box, as it comes; not thread-safe. A failure half-way is a {@link
 * dev.ebb.box.SandboxException} at its end. Closing it ends what makes it.
 */
public final class FileContent extends InputStream {
  private static final int CHUNK = 64 * 1024;

  private final FileExec source;
  private final byte[] chunk = new byte[CHUNK];
  private long position;
  private int begin;
  private int end;

  FileContent(FileExec source) {
    this.source = source;
  }

  /** Waits for the first bytes, or the end; what fails before them is thrown here. */
  void open() throws InterruptedException {
    var _ = fill();
  }

  private boolean fill() throws InterruptedException {
    Exec exec = source.exec();
    while (begin == end) {
      if (!exec.awaitOutput(position, Long.MAX_VALUE)) {
        source.finish();
        return false;
      }
      begin = 0;
      end = exec.stdout().read(position, chunk);
      position += end;
    }
    return true;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, buffer.length);
    if (length == 0) {
      return 0;
    }
    try {
      if (!fill()) {
        return -1;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for content");
    }
    int n = Math.min(length, end - begin);
    System.arraycopy(chunk, begin, buffer, offset, n);
    begin += n;
    return n;
  }

  @Override
  public int available() {
    return end - begin;
  }

  @Override
  public void close() {
    source.close();
  }
}
