package dev.ebb.exec;

import dev.ebb.box.Box;
import dev.ebb.model.BoxText;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** A file operation in an exec: passes its input, checks its end, and ends it on close. */
final class FileExec implements AutoCloseable {
  private static final int CHUNK = 64 * 1024;
  private static final int WORDS_MAX = 2000;
  private static final Duration LAST_PATIENCE = Duration.ofSeconds(10);

  private static final Duration RETRY = Duration.ofSeconds(1);

  private final Exec exec;
  private final String what;
  private final boolean isTar;

  /** {@code what} names the operation in the message of its failure. */
  FileExec(Box box, ExecSpec spec, String what, boolean isTar) {
    this(Exec.start(box, spec), what, isTar);
  }

  private FileExec(Exec exec, String what, boolean isTar) {
    this.what = what;
    this.isTar = isTar;
    this.exec = exec;
  }

  /** Starts a file operation whose output is streamed. */
  static FileExec piped(Box box, ExecSpec spec, String what, boolean isTar) {
    return new FileExec(new ExecStart(box.execSite(), spec).piped().start(), what, isTar);
  }

  /** Makes the exception for content beyond the limit. */
  SandboxException tooLarge(long most) {
    return new SandboxException(
        ErrorCode.TOO_LARGE, "cannot " + what + ": it is more than " + most + " bytes");
  }

  Exec exec() {
    return exec;
  }

  /**
   * Writes all content in frames of init/protocol.h; if reading it fails half-way, no end frame
   * follows.
   */
  void feedFrames(InputStream content) throws IOException, InterruptedException {
    var frame = ByteBuffer.allocate(Integer.BYTES + CHUNK).order(ByteOrder.nativeOrder());
    for (int n = 1; n > 0; ) {
      n = Math.max(0, content.read(frame.array(), Integer.BYTES, CHUNK));
      if (!write(frame.putInt(0, n).array(), Integer.BYTES + n)) {
        return;
      }
    }
  }

  void feed(InputStream content) throws IOException, InterruptedException {
    byte[] chunk = new byte[CHUNK];
    int n = content.read(chunk);
    while (n >= 0 && write(chunk, n)) {
      n = content.read(chunk);
    }
    exec.stdin().orElseThrow().close();
  }

  /** Returns false if the exec reads no more; its end then gives the reason. */
  private boolean write(byte[] bytes, int length) throws InterruptedException {
    return exec.stdin().orElseThrow().write(bytes, 0, length);
  }

  /** Waits for the end of the exec; throws if it failed. */
  void finish() throws InterruptedException {
    ExecResult result = exec.await();
    failure(result)
        .ifPresent(
            e -> {
              throw e;
            });
  }

  private Optional<SandboxException> failure(ExecResult result) {
    ExitCause cause = result.cause();
    if (cause instanceof ExitCause.OutputLost) {
      String why = "the host has no room for it: " + result.loss().describe();
      return Optional.of(
          SandboxException.later(
              ErrorCode.PRESSURE, "cannot " + what + ": " + why, RETRY, Map.of()));
    }
    if (!cause.equals(new ExitCause.Exited(0))) {
      return Optional.of(
          isTar ? FileFailure.ofTar(what, cause, words()) : FileFailure.of(what, cause));
    }
    return Optional.empty();
  }

  private String words() {
    byte[] words = new byte[WORDS_MAX];
    return BoxText.decode(words, 0, exec.stderr().read(0, words));
  }

  byte[] output() {
    byte[] bytes = new byte[Math.toIntExact(exec.stdout().size())];
    int n = exec.stdout().read(0, bytes);
    if (n != bytes.length) {
      throw new SandboxException(ErrorCode.INTERNAL, "cannot " + what + ": its output is cut");
    }
    return bytes;
  }

  /** ORDER: the exec is ended first. Tar would take a closed pipe for the end of the content. */
  @Override
  public void close() {
    boolean interrupted = Thread.interrupted();
    try {
      if (exec.await(Duration.ZERO).isEmpty()) {
        exec.kill(Duration.ZERO);
        var _ = exec.await(LAST_PATIENCE);
      }
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      exec.close();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
