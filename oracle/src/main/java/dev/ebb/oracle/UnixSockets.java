package dev.ebb.oracle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Unix sockets with a name of ours, also those whose file is gone already. */
public final class UnixSockets implements Detector {
  private static final int INODE = 6;
  private static final int PATH = 7;

  private final Neighbours neighbours;

  public UnixSockets(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<Trace> look(ProcessTable before) throws IOException {
    List<String> lines = Proc.lines(Proc.ROOT.resolve("net/unix"));
    // ORDER: read after them, so that the process that made one is there to own it.
    ProcessTable processes = ProcessTable.read();
    var traces = new ArrayList<Trace>();
    for (String line : lines) {
      String[] fields = line.split("\\s+", PATH + 1);
      if (fields.length > PATH && neighbours.mayHaveNamed(fields[PATH])) {
        traces.add(
            new Trace(
                Invariant.I6,
                "unix socket",
                "socket " + fields[INODE],
                fields[PATH] + " inode " + fields[INODE],
                neighbours.ownSocket(fields[PATH], fields[INODE], processes)));
      }
    }
    return traces;
  }
}
