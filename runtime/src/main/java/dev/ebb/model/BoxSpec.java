package dev.ebb.model;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a box shall be: limits, network, and what of the host it is shown. */
public record BoxSpec(
    Limits limits,
    Network network,
    List<Mount> mounts,
    List<Path> packages,
    List<CopiedFile> files) {

  public BoxSpec {
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
  }

  /** What is to be shown must be there now; of a box that was made before it may be gone. */
  private BoxSpec checked() {
    ShownPaths.checkTargets(mounts, files);
    ShownPaths.checkSources(mounts, packages, files);
    return this;
  }

  public static BoxSpec defaults() {
    return new BoxSpec(Limits.defaults(), Network.NONE, List.of(), List.of(), List.of());
  }

  public BoxSpec withLimits(Limits changed) {
    return new BoxSpec(changed, network, mounts, packages, files);
  }

  public BoxSpec withNetwork(Network changed) {
    return new BoxSpec(limits, changed, mounts, packages, files);
  }

  public BoxSpec withMount(Mount mount) {
    return new BoxSpec(limits, network, append(mounts, mount), packages, files).checked();
  }

  public BoxSpec withPackages(Path directory) {
    return new BoxSpec(limits, network, mounts, append(packages, directory), files).checked();
  }

  /**
   * What somebody asks for who may not be allowed to know what is on the host: nothing of the host
   * is looked at yet, {@link #requireSources} is to follow.
   */
  public BoxSpec asking(List<Mount> moreMounts, List<Path> morePackages) {
    var all = new BoxSpec(limits, network, moreMounts, morePackages, files);
    ShownPaths.checkTargets(all.mounts, files);
    return all;
  }

  /** Refuses what cannot be shown, with a reason that tells of the host. */
  public void requireSources() {
    ShownPaths.checkSources(mounts, packages, files);
  }

  public BoxSpec withFile(CopiedFile file) {
    return new BoxSpec(limits, network, mounts, packages, append(files, file)).checked();
  }

  private static <T> List<T> append(List<T> list, T element) {
    var longer = new ArrayList<T>(list);
    longer.add(element);
    return longer;
  }

  /**
   * Whether a box that was made by this one can be had for {@code wanted}: but for its cgroups, and
   * its way out.
   */
  public boolean canBecome(BoxSpec wanted) {
    return network.isOwn() == wanted.network.isOwn()
        && mounts.equals(wanted.mounts)
        && packages.equals(wanted.packages)
        && files.equals(wanted.files)
        && limits.disk().equals(wanted.limits.disk())
        && limits.temporary().equals(wanted.limits.temporary());
  }
}
