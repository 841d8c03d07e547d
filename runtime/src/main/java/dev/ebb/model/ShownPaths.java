package dev.ebb.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Checks which paths of the host a box may be shown, and where.
 *
 * <p>A box can make links in a writable mount, and they belong to the owner of the mount, so they
 * look like the owner's. Hence no link is followed: neither on the way to a source, which is opened
 * with the rights of the engine, nor on the way to a target, where bwrap would follow it out of the
 * box.
 */
final class ShownPaths {
  /** Targets that would break the box or its promises. */
  private static final Set<String> RESERVED = Set.of("/", "/proc", "/dev", "/tmp", "/usr", "/etc");

  private ShownPaths() {}

  /** Checks where paths are to be shown; looks at nothing on the host. */
  static void checkTargets(List<Mount> mounts, List<CopiedFile> files) {
    mounts.forEach(mount -> checkTarget(mount.box()));
    files.forEach(file -> checkTarget(file.box()));
  }

  /** Checks that the paths to show exist on the host, and that they may be shown. */
  static void checkSources(List<Mount> mounts, List<Path> packages, List<CopiedFile> files) {
    var shown = new ArrayList<Mount>();
    for (int i = 0; i < packages.size(); i++) {
      checkPackages(packages.get(i));
      shown.add(new Mount(packages.get(i), BoxPaths.packages(i), true));
    }
    for (Mount mount : mounts) {
      checkSource("mount", mount.host());
      shown.forEach(other -> checkPlace(mount, other));
      shown.add(mount);
    }
    for (CopiedFile file : files) {
      checkFile(file.host());
      shown.forEach(mount -> checkPlace(file, mount));
    }
  }

  private static Path placeIn(Mount outer, Mount mount) {
    Path at = outer.host();
    for (Path name : Path.of(outer.box()).relativize(Path.of(mount.box()))) {
      at = at.resolve(name);
      if (Files.isSymbolicLink(at) || !Files.exists(at)) {
        refuse(
            "cannot mount at %s in the box: %s has no such directory or file"
                .formatted(mount.box(), outer.host()));
      }
    }
    return at;
  }

  private static void checkSource(String verb, Path host) {
    String cannot = "cannot " + verb + " " + host + ": ";
    if (!Files.exists(host)) {
      refuse(cannot + "no such file or directory");
    }
    if (!Files.isReadable(host)) {
      refuse(cannot + "permission denied");
    }
    Path real;
    try {
      real = host.toRealPath();
    } catch (IOException e) {
      throw refusal(cannot + e.getMessage());
    }
    if (!real.equals(host.toAbsolutePath().normalize())) {
      refuse(cannot + "it leads through a link; if you trust that, name " + real);
    }
  }

  private static void checkPackages(Path directory) {
    checkSource("use packages of", directory);
    if (!Files.isDirectory(directory)) {
      refuse("cannot use packages of " + directory + ": no directory");
    }
  }

  private static void checkFile(Path host) {
    checkSource("copy", host);
    if (!Files.isRegularFile(host)) {
      refuse("cannot copy " + host + " into the box: no regular file");
    }
  }

  private static void checkTarget(String target) {
    Path path;
    try {
      path = Path.of(target);
    } catch (InvalidPathException e) {
      throw refusal("bad path \"" + target + "\" in the box: " + e.getReason());
    }
    if (!path.isAbsolute() || !path.normalize().toString().equals(target)) {
      refuse("bad path \"" + target + "\" in the box: it must be absolute, without . and ..");
    }
    if (RESERVED.contains(target) || target.startsWith("/proc/") || target.startsWith("/dev/")) {
      refuse("bad path \"" + target + "\" in the box: that place is the box's own");
    }
  }

  /**
   * A mount within a mount needs an existing mount point, since making one would leave it on the
   * host.
   */
  private static void checkPlace(Mount mount, Mount outer) {
    if (mount.box().equals(outer.box())) {
      refuse("cannot mount both " + outer.host() + " and " + mount.host() + " at " + mount.box());
    }
    if (!Path.of(mount.box()).startsWith(outer.box())) {
      return;
    }
    Path at = placeIn(outer, mount);
    if (Files.isDirectory(at, LinkOption.NOFOLLOW_LINKS) != Files.isDirectory(mount.host())) {
      refuse(
          "cannot mount %s at %s in the box: only one of them is a directory"
              .formatted(mount.host(), mount.box()));
    }
  }

  /** bwrap copies as the user of the box: a copy into a mount would write to the host. */
  private static void checkPlace(CopiedFile file, Mount mount) {
    if (Path.of(file.box()).startsWith(mount.box())) {
      refuse(
          "cannot copy %s to %s in the box: that is in the mount of %s"
              .formatted(file.host(), file.box(), mount.host()));
    }
  }

  private static void refuse(String message) {
    throw refusal(message);
  }

  private static SandboxException refusal(String message) {
    return new SandboxException(ErrorCode.MOUNT_REFUSED, message);
  }
}
