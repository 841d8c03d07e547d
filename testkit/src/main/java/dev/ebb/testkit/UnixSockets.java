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

  static List<Trace> look(ProcessTable before) throws IOException {
    List<String> lines = Proc.lines(Proc.ROOT.resolve("net/unix"));
    // ORDER: read after them, so that whoever made one is there to own it.
    ProcessTable processes = ProcessTable.read();
    var traces = new ArrayList<Trace>();
    for (String line : lines) {
      String[] fields = line.split("\\s+", PATH + 1);
      if (fields.length > PATH && fields[PATH].contains("ebb")) {
        traces.add(
            new Trace(
                "unix socket",
                "socket " + fields[INODE],
                fields[PATH] + " inode " + fields[INODE],
                // KERNEL: one that nobody has accepted yet has no inode to be held by.
                processes.isNeighboursPath(fields[PATH])
                    || processes.neighboursHold("socket:[" + fields[INODE] + "]")
                    || Strangers.made(Path.of(fields[PATH]))));
      }
    }
    return traces;
  }
}
