package dev.ebb.cli.files;

import java.io.IOException;
import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Makes a tar of a directory of the host while it is read. */
final class TarPipe {
  private static final int BUFFER = 256 * 1024;

  private TarPipe() {}

  /** Takes the tar. */
  interface Reader {
    void read(InputStream tar) throws IOException;
  }

  static void pack(Path directory, Reader reader) throws IOException {
    var failure = new AtomicReference<@Nullable IOException>();
    Thread packer;
    try (var in = new Cautious(failure)) {
      var out = new PipedOutputStream(in);
      packer =
          Thread.ofPlatform()
              .name("ebb-tar")
              .daemon()
              .unstarted(() -> pack(directory, out, failure));
      packer.start();
      reader.read(in);
    }
    join(packer);
  }

  private static void pack(
      Path directory, PipedOutputStream out, AtomicReference<@Nullable IOException> failure) {
    // ORDER: the failure is known before the end of the tar is.
    try (out) {
      try {
        new TarWriter(out).write(directory);
      } catch (IOException e) {
        failure.set(e);
      }
    } catch (IOException e) {
      failure.compareAndSet(null, e);
    }
  }

  private static void join(Thread packer) throws IOException {
    try {
      packer.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  /** Ends with the packer's failure, so that half a tar is never taken for a whole one. */
  private static final class Cautious extends PipedInputStream {
    private final AtomicReference<@Nullable IOException> failure;

    Cautious(AtomicReference<@Nullable IOException> failure) {
      super(BUFFER);
      this.failure = failure;
    }

    @Override
    public synchronized int read(byte[] buffer, int offset, int length) throws IOException {
      int n = super.read(buffer, offset, length);
      IOException failed = failure.get();
      if (n < 0 && failed != null) {
        throw failed;
      }
      return n;
    }
  }
}
