package dev.ebb.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * One command as crun and runc run it, from a bundle with the isolation of a box: the namespaces,
 * mounts, limits of memory and processes, no capability; without a seccomp filter.
 */
final class OciBundle implements AutoCloseable {
  private static final String NAME = "ebb-bench-oci";

  private static final String CONFIG =
      """
      {"ociVersion": "1.0.2", "hostname": "box", "root": {"path": "rootfs", "readonly": true},
       "process": {
        "terminal": false, "user": {"uid": 1000, "gid": 1000}, "args": [COMMAND],
        "env": ["PATH=/usr/bin:/bin"], "cwd": "/workspace", "noNewPrivileges": true,
        "capabilities": {"bounding": [], "effective": [], "inheritable": [], "permitted": []}},
       "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro"]},
        {"destination": "/etc/ld.so.cache", "type": "none", "source": "/etc/ld.so.cache",
         "options": ["bind", "ro"]},
        {"destination": "/dev", "type": "tmpfs", "source": "dev",
         "options": ["nosuid", "mode=755", "size=64k"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
         "options": ["nosuid", "nodev", "mode=1777", "size=64m"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmp",
         "options": ["nosuid", "nodev", "mode=1777", "size=64m"]},
        {"destination": "/workspace", "type": "tmpfs", "source": "workspace",
         "options": ["nosuid", "nodev", "mode=1777", "size=256m"]}],
       "linux": {
        "cgroupsPath": "/NAME",
        "resources": {"memory": {"limit": 536870912}, "pids": {"limit": 128}},
        "uidMappings": [{"containerID": 0, "hostID": 1862270976, "size": 2000}],
        "gidMappings": [{"containerID": 0, "hostID": 1862270976, "size": 2000}],
        "namespaces": [
         {"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"},
         {"type": "network"}, {"type": "cgroup"}, {"type": "user"}]}}
      """;

  private final Path directory;

  private OciBundle(Path directory) {
    this.directory = directory;
  }

  static OciBundle create(String... command) throws IOException {
    Path directory = Files.createTempDirectory("ebb-bench-oci");
    // The container's root has the uid of the user nobody on the host, and must reach the
    // directory.
    Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
    Path root = Files.createDirectory(directory.resolve("rootfs"));
    for (String name : List.of("usr", "etc", "proc", "dev", "tmp", "workspace")) {
      Files.createDirectory(root.resolve(name));
    }
    for (String name : List.of("bin", "sbin", "lib", "lib64")) {
      Files.createSymbolicLink(root.resolve(name), Path.of("usr", name));
    }
    Files.createFile(root.resolve("etc/ld.so.cache"));
    Files.writeString(directory.resolve("config.json"), config(List.of(command)));
    return new OciBundle(directory);
  }

  /** Returns the command that runs the bundle once. */
  List<String> commandLine(Path runtime) {
    var words = new ArrayList<String>();
    words.add(runtime.toString());
    words.addAll(List.of("--root", directory.resolve("state").toString(), "run"));
    words.addAll(List.of("--bundle", directory.toString(), NAME));
    return words;
  }

  private static String config(List<String> command) {
    return CONFIG
        .replace("COMMAND", "\"" + String.join("\", \"", command) + "\"")
        .replace("NAME", NAME);
  }

  @Override
  public void close() throws IOException {
    ServedDaemon.delete(directory);
  }
}
