package dev.ebb.box;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.model.Certificate;
import java.io.IOException;

/**
 * The box of one run, which is removed once, however the run ends. For one thread.
 *
 * @param <B> the type that the owner of the run uses for its box
 */
public final class OwnBox<B> {
  private final Removal<B> removal;
  private final B box;
  private boolean isRemoved;

  /** Removes a box. */
  public interface Removal<B> {
    Certificate remove(B box) throws InterruptedException;
  }

  /** Uses the box. */
  public interface Work<T> {
    T run() throws IOException, InterruptedException;
  }

  public OwnBox(Removal<B> removal, B box) {
    this.removal = removal;
    this.box = box;
  }

  public B box() {
    return box;
  }

  /** Removes the box and waits for that; a removal that fails may be repeated. */
  public Certificate remove() throws InterruptedException {
    Certificate certificate = removal.remove(box);
    isRemoved = true;
    return certificate;
  }

  /** Notes that another thread removes the box. */
  public void handOver() {
    isRemoved = true;
  }

  /** Does {@code work}, and removes the box if that fails; adds further failures as suppressed. */
  @CanIgnoreReturnValue
  public <T> T removeOnFailure(Work<T> work) throws IOException, InterruptedException {
    try {
      return work.run();
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      abandon(e);
      throw e;
    }
  }

  private void abandon(Throwable failure) throws InterruptedException {
    if (!isRemoved) {
      try {
        remove();
      } catch (RuntimeException e) {
        failure.addSuppressed(e);
      }
    }
  }
}
