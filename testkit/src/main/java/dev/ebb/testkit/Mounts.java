package dev.ebb.testkit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Mounts, and the loop devices that file systems in files hang on. */
final class Mounts {
  private Mounts() {}

  static List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Mount mount : Mount.readAll()) {
      String details =
          "%s type %s source %s".formatted(mount.point(), mount.type(), mount.source());
      traces.add(
          new Trace(
              "mount",
              "mount " + mount.id() + " " + mount.point(),
              details,
              Strangers.madeWhatRootMakes()
                  || processes.isNeighboursPath(mount.point().toString())));
    }
    for (Path device : Proc.list(Path.of("/sys/block"))) {
      Proc.read(device.resolve("loop/backing_file"))
          .ifPresent(
              file -> {
                String details = "/dev/" + device.getFileName() + " on " + file.strip();
                boolean neighbours =
                    Strangers.madeWhatRootMakes() || processes.isNeighboursPath(file.strip());
                traces.add(new Trace("loop device", details, details, neighbours));
              });
    }
    return traces;
  }
}
