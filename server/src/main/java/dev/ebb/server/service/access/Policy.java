package dev.ebb.server.service.access;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.EgressPolicy;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.model.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What a caller may request of the host. An admin may ask for anything within the caps.
 *
 * @param mounts directories that may be mounted with all below them, read-only
 * @param writableMounts directories that may also be mounted writable
 * @param hostNetwork whether boxes may use the host's network
 * @param egress what boxes may be allowed to reach
 * @param backends the backends that an order may name
 */
public record Policy(
    List<Path> mounts,
    List<Path> writableMounts,
    boolean hostNetwork,
    EgressPolicy egress,
    List<String> backends,
    Caps caps) {
  public static final Policy STRICT =
      new Policy(List.of(), List.of(), false, EgressPolicy.NOTHING, List.of(), Caps.NONE);

  public Policy {
    mounts = List.copyOf(mounts);
    writableMounts = List.copyOf(writableMounts);
    backends = List.copyOf(backends);
  }

  /**
   * Checks that the caller may have such a box, and that the host has what it mounts.
   *
   * <p>SAFETY: a path that a tenant may not name is not looked at, and every error about a path
   * that it names has one text: neither the refusal nor its timing reveals what the host has.
   */
  public void check(Caller caller, BoxSpec spec) {
    if (caller.isAdmin()) {
      spec.requireSources();
      return;
    }
    check(caller, spec.network());
    check(spec.backend());
    for (Mount mount : spec.mounts()) {
      if (!allows(mount.host(), mount.readOnly())) {
        throw notShown(spec);
      }
    }
    for (Path packages : spec.packages()) {
      if (!allows(packages, true)) {
        throw notShown(spec);
      }
    }
    if (leadsThroughLink(spec)) {
      throw notShown(spec);
    }
    try {
      spec.requireSources();
    } catch (SandboxException e) {
      throw notShown(spec);
    }
  }

  /** A link that a box has made may lead anywhere: nothing behind it is looked at. */
  private static boolean leadsThroughLink(BoxSpec spec) {
    return Stream.concat(spec.mounts().stream().map(Mount::host), spec.packages().stream())
        .anyMatch(Policy::leadsThroughLink);
  }

  private static boolean leadsThroughLink(Path path) {
    Path plain = path.toAbsolutePath().normalize();
    return IntStream.rangeClosed(1, plain.getNameCount())
        .mapToObj(count -> Path.of("/").resolve(plain.subpath(0, count)))
        .anyMatch(Files::isSymbolicLink);
  }

  private static SandboxException notShown(BoxSpec spec) {
    var named = new ArrayList<String>();
    for (Mount mount : spec.mounts()) {
      named.add("a mount of " + mount.host() + (mount.readOnly() ? "" : ", writable"));
    }
    for (Path packages : spec.packages()) {
      named.add("packages of " + packages);
    }
    return forbidden(
        String.join("; ", named)
            + "; or it is not there, cannot be shown, or is behind a symbolic link");
  }

  public void check(Caller caller, Network network) {
    if (caller.isAdmin()) {
      return;
    }
    if (!network.isOwn() && !hostNetwork) {
      throw forbidden("the network of the host");
    }
    egress
        .firstBeyond(network.policy())
        .ifPresent(
            rule -> {
              throw forbidden(
                  egress.isEmpty()
                      ? "boxes to reach anything (policy.egress is empty)"
                      : "boxes to reach " + rule + ", only " + egress);
            });
  }

  /** SAFETY: the refusal does not depend on which backends the host has. */
  private void check(Optional<String> backend) {
    if (backend.isPresent() && !backends.contains(backend.get())) {
      throw forbidden(
          backends.isEmpty()
              ? "to choose a backend (policy.backends is empty)"
              : "the backend " + backend.get() + ", only " + String.join(", ", backends));
    }
  }

  /** Links are not followed on the way to a mount, so its name is its place. */
  private boolean allows(Path path, boolean readOnly) {
    Path plain = path.toAbsolutePath().normalize();
    return writableMounts.stream().anyMatch(plain::startsWith)
        || (readOnly && mounts.stream().anyMatch(plain::startsWith));
  }

  private static SandboxException forbidden(String what) {
    return new SandboxException(
        ErrorCode.FORBIDDEN, "the policy of this server does not allow " + what);
  }
}
