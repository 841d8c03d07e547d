package dev.ebb.oracle;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** TCP ports of the host that this process, or one below it, listens on. */
public final class Ports implements Detector {
  private static final List<String> TABLES = List.of("net/tcp", "net/tcp6");
  private static final String LISTEN = "0A";
  private static final int ADDRESS = 1;
  private static final int STATE = 3;
  private static final int INODE = 9;

  public Ports() {}

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (String table : TABLES) {
      for (String line : Proc.lines(Proc.ROOT.resolve(table))) {
        String[] fields = line.strip().split("\\s+");
        if (fields.length > INODE && fields[STATE].equals(LISTEN)) {
          traces.add(trace(fields, processes));
        }
      }
    }
    return traces;
  }

  private static Trace trace(String[] fields, ProcessTable processes) throws IOException {
    String address = fields[ADDRESS];
    int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1), 16);
    String inode = fields[INODE];
    return new Trace(
        Invariant.I9,
        "port",
        "port inode " + inode,
        "port %d inode %s".formatted(port, inode),
        !processes.weHold("socket:[" + inode + "]"));
  }
}
