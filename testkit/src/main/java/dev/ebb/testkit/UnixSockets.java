package dev.ebb.testkit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Unix sockets with a name of ours, also those whose file is gone already. */
final class UnixSockets {
  private static final int INODE = 6;
  private static final int PATH = 7;

  private UnixSockets() {}

  static List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (String line : Proc.lines(Proc.ROOT.resolve("net/unix"))) {
      String[] fields = line.split("\\s+", PATH + 1);
      if (fields.length > PATH && fields[PATH].contains("ebb")) {
        traces.add(
            new Trace(
                "unix socket",
                "socket " + fields[INODE],
                fields[PATH] + " inode " + fields[INODE],
                processes.neighboursHold("socket:[" + fields[INODE] + "]")
                    || Strangers.made(Path.of(fields[PATH]))));
      }
    }
    return traces;
  }
}
