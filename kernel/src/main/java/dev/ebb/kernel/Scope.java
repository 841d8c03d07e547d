package dev.ebb.kernel;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The owner of everything that was acquired in it: closing releases everything in reverse order,
 * goes on after failures, and throws the first with the rest suppressed.
 *
 * <p>Every acquiring call takes its scope first, so nothing is ever returned unowned. Thread-safe.
 */
public final class Scope implements AutoCloseable, Owned {
  private final ReentrantLock lock = new ReentrantLock();
  private final Deque<Owned> owned = new ArrayDeque<>();
  private boolean closed;

  public Scope() {}

  /** A scope that ends with {@code parent} at the latest. */
  public static Scope in(Scope parent) throws KernelException {
    return parent.own(new Scope());
  }

  /**
   * Takes ownership and returns the resource.
   *
   * <p>RACE: a scope closed meanwhile releases the late-comer at once and refuses it; check and add
   * are under one lock.
   */
  public <T extends Owned> T own(T resource) throws KernelException {
    lock.lock();
    try {
      if (!closed) {
        owned.push(resource);
        return resource;
      }
    } finally {
      lock.unlock();
    }
    resource.close();
    throw new IllegalStateException("scope is closed");
  }

  /** True from the moment its closing began. */
  public boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  /** How many resources it owns, those of scopes within it included. */
  public int size() {
    lock.lock();
    try {
      int size = 0;
      for (Owned each : owned) {
        size += each instanceof Scope scope ? scope.size() : 1;
      }
      return size;
    } finally {
      lock.unlock();
    }
  }

  /** The descriptors it owns, those of scopes within it included, as they name themselves. */
  public List<String> contents() {
    lock.lock();
    try {
      var names = new ArrayList<String>();
      for (Owned each : owned) {
        switch (each) {
          case Scope scope -> names.addAll(scope.contents());
          case Fd fd -> names.add(fd.toString());
          default -> {}
        }
      }
      return names;
    } finally {
      lock.unlock();
    }
  }

  /** Closes one resource now and forgets it. */
  public void release(Owned resource) throws KernelException {
    lock.lock();
    try {
      owned.remove(resource);
    } finally {
      lock.unlock();
    }
    resource.close();
  }

  /** Moves everything to {@code target}, in the same order; the last line of a construction. */
  public void moveTo(Scope target) throws KernelException {
    Deque<Owned> moving = take(false);
    if (!target.ownAll(moving)) {
      release(moving);
      throw new IllegalStateException("scope is closed");
    }
  }

  /** RACE: all or none, so that a target closed meanwhile splits nothing. */
  private boolean ownAll(Deque<Owned> moving) {
    lock.lock();
    try {
      if (!closed) {
        moving.descendingIterator().forEachRemaining(owned::push);
      }
      return !closed;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() throws KernelException {
    release(take(true));
  }

  private static void release(Deque<Owned> releasing) throws KernelException {
    Throwable first = null;
    while (!releasing.isEmpty()) {
      try {
        releasing.pop().close();
      } catch (Throwable failure) {
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    if (first != null) {
      rethrow(first);
    }
  }

  private static void rethrow(Throwable failure) throws KernelException {
    if (failure instanceof KernelException e) {
      throw e;
    }
    if (failure instanceof RuntimeException e) {
      throw e;
    }
    throw failure instanceof Error e ? e : new AssertionError(failure);
  }

  private Deque<Owned> take(boolean close) {
    lock.lock();
    try {
      var all = new ArrayDeque<>(owned);
      owned.clear();
      closed |= close;
      return all;
    } finally {
      lock.unlock();
    }
  }
}
