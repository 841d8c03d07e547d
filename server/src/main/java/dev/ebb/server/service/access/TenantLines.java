package dev.ebb.server.service.access;

import dev.ebb.kernel.KernelException;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.store.OwnerLines;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/** Lines about tenants in a record store, with the daemon's errors. */
final class TenantLines {
  private final OwnerLines lines;

  TenantLines(OwnerLines lines) {
    this.lines = lines;
  }

  List<String> all() {
    try {
      return lines.lines();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + lines.place(), e);
    }
  }

  /** Returns a value that differs after every change. */
  String version() {
    try {
      return lines.version();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot look at " + lines.place(), e);
    }
  }

  /** Passes the current lines to {@code change}, and stores its result. */
  <T> T change(Function<List<String>, T> change) {
    try {
      return lines.change(change);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot change " + lines.place(), e);
    }
  }

  /**
   * Refuses damaged lines, and reports the place.
   *
   * @param isWhole tests a line
   */
  void check(Predicate<String> isWhole) {
    List<String> found;
    try {
      found = lines.lines();
    } catch (IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot read " + lines.place() + ": " + e.getMessage());
    }
    for (int i = 0; i < found.size(); i++) {
      if (!found.get(i).isBlank() && !isWhole.test(found.get(i))) {
        throw new SandboxException(
            ErrorCode.HOST_UNFIT,
            "%s is damaged: line %d makes no sense; mend or remove it"
                .formatted(lines.place(), i + 1));
      }
    }
  }
}
