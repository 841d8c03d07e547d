package dev.ebb.backend;

import dev.ebb.kernel.KernelException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The backends of one engine.
 *
 * <p>A box that names no backend is made by the first backend, in order, that has the capabilities
 * and can make a box now. Thread-safe.
 */
public final class Backends {
  private final List<SandboxBackend> automatic;
  private final List<SandboxBackend> all;

  /**
   * Registers backends.
   *
   * @param automatic in the order they are tried for a box that names none; the last can make any
   * @param byName backends only for boxes that name them
   */
  public Backends(List<SandboxBackend> automatic, List<SandboxBackend> byName) {
    this.automatic = List.copyOf(automatic);
    var both = new ArrayList<>(automatic);
    both.addAll(byName);
    all = List.copyOf(both);
    if (automatic.isEmpty() || names().size() < all.size()) {
      throw new IllegalArgumentException("no backend, or two of a name: " + names());
    }
  }

  public List<SandboxBackend> all() {
    return all;
  }

  public Set<String> names() {
    var names = new LinkedHashSet<String>();
    all.forEach(each -> names.add(each.name()));
    return names;
  }

  public Optional<SandboxBackend> find(String name) {
    for (SandboxBackend each : all) {
      if (each.name().equals(name)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }

  /** Returns the backend that makes a box when no other can. */
  public SandboxBackend fallback() {
    return automatic.getLast();
  }

  /** Returns the backend whose boxes have a copy of a prepared process. */
  public Optional<SandboxBackend> copier() {
    return automatic.stream()
        .filter(each -> each.capabilities().has(Capability.ZYGOTE))
        .findFirst();
  }

  /**
   * Returns the backends that can make such a box, in the order to try them.
   *
   * @param wantsCopy of a prepared process, if that can be had
   */
  public List<SandboxBackend> candidates(SandboxSpec spec, boolean wantsCopy) {
    Set<Capability> needed = Capability.neededBy(spec);
    var able = new ArrayList<SandboxBackend>(automatic.size());
    for (SandboxBackend each : automatic) {
      boolean isCopier = each.capabilities().has(Capability.ZYGOTE);
      if ((wantsCopy || !isCopier) && each.capabilities().all().containsAll(needed)) {
        able.add(each);
      }
    }
    return able;
  }

  /** Prepares what the first box would otherwise wait for. */
  public void prepare() throws InterruptedException {
    for (SandboxBackend each : automatic) {
      each.prepare();
    }
  }

  /**
   * Closes every backend, in reverse order; the first failure is thrown with the rest suppressed.
   */
  public void close() throws KernelException {
    KernelException failure = null;
    for (SandboxBackend each : all.reversed()) {
      try {
        each.close();
      } catch (KernelException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
