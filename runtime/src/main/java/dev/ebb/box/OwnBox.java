package dev.ebb.box;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.model.Certificate;
import java.io.IOException;

/**
 * The box of one run, which is removed once, however the run ends. For one thread.
 *
 * @param <B> a box, as the owner of the run knows it
 */
public final class OwnBox<B> {
  private final Removal<B> removal;
  private final B box;
  private boolean isRemoved;

  /** How a box is removed. */
  public interface Removal<B> {
    Certificate remove(B box) throws InterruptedException;

    void removeAsync(B box);
  }

  /** What is done with the box. */
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

  /** Removes it and waits for that; a removal that fails may be repeated. */
  public Certificate remove() throws InterruptedException {
    Certificate certificate = removal.remove(box);
    isRemoved = true;
    return certificate;
  }

  /** Has it removed after the answer, unless it is removed already. */
  public void removeAsync() {
    if (!isRemoved) {
      removal.removeAsync(box);
      isRemoved = true;
    }
  }

  /** Does {@code work}, and removes the box if that fails; reports what else goes wrong. */
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
