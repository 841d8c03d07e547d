package dev.ebb.engine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs work on many items at once, each on a virtual thread. */
final class Together {
  private Together() {}

  /** The work on one item. */
  interface Work<T, R> {
    Optional<R> with(T each) throws InterruptedException;
  }

  /** Returns the results in the order of the items, when all are done. */
  static <T, R> List<R> each(Collection<T> all, Work<T, R> work) throws InterruptedException {
    var begun = new ArrayList<Future<Optional<R>>>();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      all.forEach(each -> begun.add(threads.submit(() -> work.with(each))));
    }
    var results = new ArrayList<R>();
    for (Future<Optional<R>> each : begun) {
      result(each).ifPresent(results::add);
    }
    return results;
  }

  private static <R> Optional<R> result(Future<Optional<R>> done) throws InterruptedException {
    try {
      return done.get();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case InterruptedException _ ->
            throw new InterruptedException("while others were waited for");
        case RuntimeException cause -> throw cause;
        case Error cause -> throw cause;
        case null, default -> throw new IllegalStateException(e);
      }
    }
  }
}
