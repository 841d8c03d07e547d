package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Mounts, and the loop devices that file systems in files hang on. */
public final class Mounts implements Detector {
  private final Neighbours neighbours;

  public Mounts(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Mount mount : Mount.readAll()) {
      traces.add(
          new Trace(
              Invariant.I5,
              "mount",
              "mount " + mount.id() + " " + mount.point(),
              "%s type %s source %s".formatted(mount.point(), mount.type(), mount.source()),
              neighbours.ownMounted(mount.point().toString(), processes)));
    }
    addLoopDevices(processes, traces);
    return traces;
  }

  private void addLoopDevices(ProcessTable processes, List<Trace> traces) throws IOException {
    for (Path device : Proc.list(Path.of("/sys/block"))) {
      var file = Proc.read(device.resolve("loop/backing_file")).map(String::strip);
      if (file.isPresent()) {
        String details = "/dev/" + device.getFileName() + " on " + file.get();
        traces.add(
            new Trace(
                Invariant.I5,
                "loop device",
                details,
                details,
                neighbours.ownMounted(file.get(), processes)));
      }
    }
  }
}
