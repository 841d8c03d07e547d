package dev.ebb.exec;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Objects;

/**
 * A stream of content from a box, which is produced no faster than it is read. Not thread-safe. A
 * failure half-way is a {@link dev.ebb.model.SandboxException} at the end of the stream. Closing it
 * ends its producer.
 */
public final class FileContent extends InputStream {
  private static final int CHUNK = 64 * 1024;

  private final FileExec source;
  private final byte[] chunk = new byte[CHUNK];
  private final long most;
  private long position;
  private boolean isOver;
  private int begin;
  private int end;

  /** Bounds the stream to {@code most} bytes; more is a failure. */
  FileContent(FileExec source, long most) {
    this.source = source;
    this.most = most;
  }

  /** Waits for the first bytes or the end; an earlier failure is thrown here. */
  void open() throws InterruptedException {
    var _ = fill();
  }

  private boolean fill() throws InterruptedException {
    while (begin == end) {
      begin = 0;
      end = Math.max(0, take());
      position += end;
      if (end == 0 && isOver) {
        source.finish();
        return false;
      }
      if (position > most) {
        throw source.tooLarge(most);
      }
    }
    return true;
  }

  private int take() throws InterruptedException {
    Exec exec = source.exec();
    if (exec.piped().isPresent()) {
      int n = exec.piped().get().read(chunk, exec::isOver);
      isOver = n == 0;
      return n;
    }
    isOver = !exec.awaitOutput(position, Long.MAX_VALUE);
    return isOver ? 0 : exec.stdout().read(position, chunk);
  }

  @Override
  public int read() throws IOException {
    return begin < end || filled() ? chunk[begin++] & 0xFF : -1;
  }

  private boolean filled() throws IOException {
    try {
      return fill();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for content");
    }
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, buffer.length);
    if (length == 0) {
      return 0;
    }
    if (!filled()) {
      return -1;
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
