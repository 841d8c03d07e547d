package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Blocks of host uids, each a link to the instance that it is claimed for. */
public final class ClaimedUids implements Detector {
  private static final Path CLAIMS = Path.of("/run/ebb-uids");

  private final Neighbours neighbours;

  public ClaimedUids(Neighbours neighbours) {
    this.neighbours = neighbours;
  }

  @Override
  public List<Trace> look(ProcessTable before) throws IOException {
    Map<Path, Path> claims = new TreeMap<>();
    for (Path link : Proc.list(CLAIMS)) {
      Proc.readLink(link).ifPresent(instance -> claims.put(link, Path.of(instance)));
    }
    var traces = new ArrayList<Trace>();
    if (!claims.isEmpty()) {
      // ORDER: read after them, so that the process that made one is there to own it.
      ProcessTable processes = ProcessTable.read();
      for (var claim : claims.entrySet()) {
        Trace trace = trace(claim.getKey(), claim.getValue(), processes);
        // RACE: one that went meanwhile may have lost its owner before it was looked for.
        if (!Files.notExists(claim.getKey(), LinkOption.NOFOLLOW_LINKS)) {
          traces.add(trace);
        }
      }
    }
    return traces;
  }

  private Trace trace(Path link, Path instance, ProcessTable processes) throws IOException {
    return new Trace(
        Invariant.I6,
        "uid claim",
        link + " " + instance,
        link + " for " + instance,
        neighbours.ownCgroup(link, String.valueOf(instance.getFileName()), processes));
  }
}
