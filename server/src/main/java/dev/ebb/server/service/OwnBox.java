package dev.ebb.server.service;

import dev.ebb.model.Certificate;

/** The box of one run, which is removed once, however the run ends. For one thread. */
final class OwnBox {
  private final Removal removal;
  private final TenantBox box;
  private boolean isRemoved;

  /** How a box is removed. */
  interface Removal {
    Certificate remove(TenantBox box) throws InterruptedException;

    void removeAsync(TenantBox box);
  }

  OwnBox(Removal removal, TenantBox box) {
    this.removal = removal;
    this.box = box;
  }

  TenantBox box() {
    return box;
  }

  /** Removes it and waits for that; a removal that fails may be repeated. */
  Certificate remove() throws InterruptedException {
    Certificate certificate = removal.remove(box);
    isRemoved = true;
    return certificate;
  }

  /** Has it removed after the answer, unless it is removed already. */
  void removeAsync() {
    if (!isRemoved) {
      removal.removeAsync(box);
      isRemoved = true;
    }
  }

  /** Removes it after a failure, unless it is removed already; reports what else goes wrong. */
  void abandon(Throwable failure) throws InterruptedException {
    if (!isRemoved) {
      try {
        remove();
      } catch (RuntimeException e) {
        failure.addSuppressed(e);
      }
    }
  }
}
