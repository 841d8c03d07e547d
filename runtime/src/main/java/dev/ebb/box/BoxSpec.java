package dev.ebb.box;

import dev.ebb.backend.CopiedFile;
import dev.ebb.backend.Mount;
import dev.ebb.backend.Network;
import dev.ebb.backend.SandboxSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** What a box shall be: limits, network, and what of the host it is shown. */
public record BoxSpec(
    Limits limits,
    Network network,
    List<Mount> mounts,
    List<Path> packages,
    List<CopiedFile> files) {

  /** Targets that would break the box or its promises. */
  private static final Set<String> RESERVED = Set.of("/", "/proc", "/dev", "/tmp", "/usr", "/etc");

  public BoxSpec {
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
    mounts.forEach(BoxSpec::check);
    packages.forEach(BoxSpec::checkDirectory);
    files.forEach(BoxSpec::check);
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
    return new BoxSpec(limits, network, append(mounts, mount), packages, files);
  }

  public BoxSpec withPackages(Path directory) {
    return new BoxSpec(limits, network, mounts, append(packages, directory), files);
  }

  public BoxSpec withFile(CopiedFile file) {
    return new BoxSpec(limits, network, mounts, packages, append(files, file));
  }

  private static <T> List<T> append(List<T> list, T element) {
    var longer = new ArrayList<T>(list);
    longer.add(element);
    return longer;
  }

  SandboxSpec sandbox(boolean hidesCgroups) {
    return new SandboxSpec(
        network, hidesCgroups, mounts, packages, files, limits.disk(), limits.temporary());
  }

  private static void check(Mount mount) {
    if (!Files.exists(mount.host())) {
      refuse("cannot mount " + mount.host() + ": no such file or directory");
    }
    if (!Files.isReadable(mount.host())) {
      refuse("cannot mount " + mount.host() + ": permission denied");
    }
    checkTarget(mount.box());
  }

  private static void check(CopiedFile file) {
    if (!Files.isRegularFile(file.host()) || !Files.isReadable(file.host())) {
      refuse("cannot copy " + file.host() + " into the box: no readable regular file");
    }
    checkTarget(file.box());
  }

  private static void checkDirectory(Path directory) {
    if (!Files.isDirectory(directory) || !Files.isReadable(directory)) {
      refuse("cannot use packages of " + directory + ": no readable directory");
    }
  }

  private static void checkTarget(String target) {
    Path path = Path.of(target);
    if (!path.isAbsolute() || !path.normalize().toString().equals(target)) {
      refuse("bad path \"" + target + "\" in the box: it must be absolute, without . and ..");
    }
    if (RESERVED.contains(target) || target.startsWith("/proc/") || target.startsWith("/dev/")) {
      refuse("bad path \"" + target + "\" in the box: that place is the box's own");
    }
  }

  private static void refuse(String message) {
    throw new SandboxException(ErrorCode.MOUNT_REFUSED, message);
  }
}
