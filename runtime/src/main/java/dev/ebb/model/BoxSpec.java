package dev.ebb.model;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The specification of a box: limits, network, and the part of the host that it sees.
 *
 * @param backend the name of the backend that must make it; empty: any that can
 */
public record BoxSpec(
    Limits limits,
    Network network,
    List<Mount> mounts,
    List<Path> packages,
    List<CopiedFile> files,
    Optional<String> backend) {

  public BoxSpec {
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
  }

  /** Checks that the sources of mounts exist now; those of an existing box may be gone. */
  private BoxSpec checked() {
    ShownPaths.checkTargets(mounts, files);
    ShownPaths.checkSources(mounts, packages, files);
    return this;
  }

  public static BoxSpec defaults() {
    return new BoxSpec(
        Limits.defaults(), Network.NONE, List.of(), List.of(), List.of(), Optional.empty());
  }

  public BoxSpec withLimits(Limits changed) {
    return new BoxSpec(changed, network, mounts, packages, files, backend);
  }

  public BoxSpec withNetwork(Network changed) {
    return new BoxSpec(limits, changed, mounts, packages, files, backend);
  }

  public BoxSpec withMount(Mount mount) {
    return new BoxSpec(limits, network, append(mounts, mount), packages, files, backend).checked();
  }

  public BoxSpec withPackages(Path directory) {
    return new BoxSpec(limits, network, mounts, append(packages, directory), files, backend)
        .checked();
  }

  /**
   * Makes a specification for a caller that may not be allowed to know what the host has: does not
   * access the host. Call {@link #requireSources} next.
   */
  public BoxSpec asking(List<Mount> moreMounts, List<Path> morePackages) {
    var all = new BoxSpec(limits, network, moreMounts, morePackages, files, backend);
    ShownPaths.checkTargets(all.mounts, files);
    return all;
  }

  /** Refuses sources that cannot be shown; the reason reveals facts about the host. */
  public void requireSources() {
    ShownPaths.checkSources(mounts, packages, files);
  }

  public BoxSpec withFile(CopiedFile file) {
    return new BoxSpec(limits, network, mounts, packages, append(files, file), backend).checked();
  }

  /** Returns a copy that requires the backend of this name. */
  public BoxSpec withBackend(String name) {
    return new BoxSpec(limits, network, mounts, packages, files, Optional.of(name));
  }

  private static <T> List<T> append(List<T> list, T element) {
    var longer = new ArrayList<T>(list);
    longer.add(element);
    return longer;
  }

  /**
   * Returns whether a box of this specification can serve {@code wanted} after changes to its
   * cgroups and its network policy.
   */
  public boolean canBecome(BoxSpec wanted) {
    return network.isOwn() == wanted.network.isOwn()
        && mounts.equals(wanted.mounts)
        && packages.equals(wanted.packages)
        && files.equals(wanted.files)
        && backend.equals(wanted.backend)
        && limits.disk().equals(wanted.limits.disk())
        && limits.temporary().equals(wanted.limits.temporary());
  }
}
