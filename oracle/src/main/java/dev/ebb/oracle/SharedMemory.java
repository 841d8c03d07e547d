package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** SysV objects, POSIX shared memory and message queues that are ours or a box's. */
public final class SharedMemory implements Detector {
  private static final List<String> SYSV = List.of("shm", "sem", "msg");
  private static final List<Path> POSIX = List.of(Path.of("/dev/shm"), Path.of("/dev/mqueue"));

  /** The first column is the key, and then comes what each type has its own name for. */
  private static final int ID = 1;

  private final Neighbours neighbours;

  public SharedMemory(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (String type : SYSV) {
      lookAtSysV(type, traces);
    }
    for (Path directory : POSIX) {
      for (Path file : Proc.list(directory)) {
        if (isOurs(file)) {
          traces.add(
              new Trace(Invariant.I11, "shared memory file", file.toString(), file.toString()));
        }
      }
    }
    return traces;
  }

  private void lookAtSysV(String type, List<Trace> traces) throws IOException {
    var lines = Proc.lines(Proc.ROOT.resolve("sysvipc").resolve(type));
    if (lines.isEmpty()) {
      return;
    }
    var columns = Arrays.asList(lines.getFirst().strip().split("\\s+"));
    for (String line : lines.subList(1, lines.size())) {
      String[] values = line.strip().split("\\s+");
      if (!neighbours.ownMemoryOf((int) Long.parseLong(values[columns.indexOf("cuid")]))) {
        String id = type + " " + values[ID];
        traces.add(new Trace(Invariant.I11, "SysV " + type, id, id + ": " + line.strip()));
      }
    }
  }

  private boolean isOurs(Path file) throws IOException {
    try {
      return !neighbours.ownMemoryOf(
          (int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS));
    } catch (IOException e) {
      if (Proc.isGone(e)) {
        return false;
      }
      throw e;
    }
  }
}
