package dev.ebb.engine;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Backends;
import dev.ebb.backend.bubblewrap.Bubblewrap;
import dev.ebb.backend.forkserver.ForkserverBackend;
import dev.ebb.backend.forkserver.StartPolicy;
import dev.ebb.backend.forkserver.ZygoteBackend;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Registers the backends. No other class outside of their packages names one. */
final class BackendRegistration {
  static final List<Path> BWRAP =
      List.of(Path.of("/usr/bin/bwrap"), Path.of("/usr/local/bin/bwrap"), Path.of("/bin/bwrap"));

  private BackendRegistration() {}

  /**
   * Returns the backends whose programs the host has; throws if it lacks one that is always needed.
   */
  static Opening.Registration ofHost() {
    Path bwrap = bwrap(BWRAP);
    return (host, role) -> backends(host, role, bwrap);
  }

  /** Returns the first of {@code places} that holds bubblewrap. */
  static Path bwrap(List<Path> places) {
    return places.stream()
        .filter(Files::isExecutable)
        .findFirst()
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.HOST_UNFIT,
                    "bubblewrap is missing: install it (apt-get install bubblewrap)"));
  }

  private static Backends backends(BackendHost host, Opening.Role role, Path bwrap) {
    StartPolicy policy = policy(role).orOverride();
    return new Backends(
        List.of(
            new ZygoteBackend(host, bwrap, policy),
            new ForkserverBackend(host, bwrap, policy),
            new Bubblewrap(host, bwrap)),
        List.of());
  }

  private static StartPolicy policy(Opening.Role role) {
    return switch (role) {
      case DAEMON -> StartPolicy.ALWAYS;
      case GUEST, PROCESS -> StartPolicy.FROM_THE_SECOND_BOX;
    };
  }
}
