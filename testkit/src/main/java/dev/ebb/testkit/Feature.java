package dev.ebb.testkit;

import dev.ebb.kernel.Self;
import dev.ebb.oracle.Mount;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A feature that a host may lack. */
public enum Feature {
  ROOT("root") {
    @Override
    public boolean isPresent() {
      return Self.uid() == 0;
    }
  },
  CGROUPS("writable cgroups") {
    @Override
    public boolean isPresent() {
      try {
        return Mount.readAll().stream()
            .filter(mount -> mount.type().equals("cgroup2"))
            .anyMatch(mount -> Files.isWritable(mount.point().resolve("cgroup.procs")));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  },
  PURE_V2("pure cgroup v2") {
    @Override
    public boolean isPresent() {
      try {
        Path controllers = Path.of("/sys/fs/cgroup/cgroup.controllers");
        return Files.exists(controllers) && Files.readString(controllers).contains("pids");
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  },
  LOOP_DEVICES("loop devices") {
    @Override
    public boolean isPresent() {
      return Files.exists(Path.of("/dev/loop-control"));
    }
  },
  BWRAP("bubblewrap") {
    @Override
    public boolean isPresent() {
      return List.of("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap").stream()
          .anyMatch(path -> Files.isExecutable(Path.of(path)));
    }
  };

  private final String words;

  Feature(String words) {
    this.words = words;
  }

  public abstract boolean isPresent();

  /** The reason for which a test is skipped. */
  String lack() {
    return "host lacks " + words;
  }
}
