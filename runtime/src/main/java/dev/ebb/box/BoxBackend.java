package dev.ebb.box;

import static java.util.Objects.requireNonNull;

import dev.ebb.backend.Backends;
import dev.ebb.backend.Capability;
import dev.ebb.backend.SandboxBackend;
import dev.ebb.model.BoxId;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The backend of one box, and what the box cannot do because of it.
 *
 * <p>Set by the thread that makes or adopts the box, before any other uses it.
 */
final class BoxBackend {
  /** The longest part of an unknown name that is repeated to the caller. */
  private static final int NAME_SHOWN = 64;

  private final BoxId id;
  private volatile @Nullable SandboxBackend backend;
  private volatile boolean isRecorded;

  BoxBackend(BoxId id) {
    this.id = id;
  }

  /** Records the backend that made the box. */
  void madeBy(SandboxBackend maker) {
    backend = maker;
    isRecorded = true;
  }

  /** Treats the box as one of this backend: no record names the backend that made it. */
  void assume(SandboxBackend likely) {
    backend = likely;
    isRecorded = false;
  }

  SandboxBackend backend() {
    return requireNonNull(backend);
  }

  /** Empty: the box is not made yet, or an engine made it that recorded no backend. */
  Optional<String> name() {
    SandboxBackend current = backend;
    return current != null && isRecorded ? Optional.of(current.name()) : Optional.empty();
  }

  boolean has(Capability capability) {
    SandboxBackend current = backend;
    return current != null && current.capabilities().has(capability);
  }

  /**
   * Refuses what a box of this backend cannot do; a box without a backend is refused by its state.
   */
  void require(Capability capability) {
    SandboxBackend current = backend;
    if (current != null && !current.capabilities().has(capability)) {
      throw lacks(id, current.name(), capability);
    }
  }

  /** Returns the backend of this name; refuses an unknown name. */
  static SandboxBackend named(Backends backends, String name) {
    return backends
        .find(name)
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.BAD_REQUEST,
                    "unknown backend \""
                        + name.substring(0, Math.min(name.length(), NAME_SHOWN))
                        + "\": choose one of "
                        + String.join(", ", backends.names())));
  }

  static SandboxException lacks(BoxId id, String backend, Capability capability) {
    return new SandboxException(
        ErrorCode.UNSUPPORTED,
        "box " + id + ": backend " + backend + " cannot " + capability.action());
  }
}
