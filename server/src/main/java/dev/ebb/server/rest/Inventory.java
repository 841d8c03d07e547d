package dev.ebb.server.rest;

import dev.ebb.box.Box;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Holding;
import dev.ebb.ledger.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.ServedBox;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a box holds on the host at this moment. */
final class Inventory {
  private Inventory() {}

  static List<Map<String, Object>> of(Boxes boxes, ServedBox served) {
    var all = new ArrayList<Map<String, Object>>();
    for (Holding holding : boxes.holdings(served)) {
      if (holding.kind() != Kind.PROCESS) {
        all.add(item(holding.kind().word(), holding.subject()));
      }
    }
    if (served.state().isAlive()) {
      Box box = served.box();
      for (int pid : box.pids()) {
        var process = item("process", Integer.toString(pid));
        process.put("detail", ProcFs.commandLine(pid));
        all.add(process);
      }
      box.descriptors().forEach(name -> all.add(item("descriptor", name)));
      mounts(box).forEach(point -> all.add(item("mount", point)));
    }
    return all;
  }

  private static Map<String, Object> item(String kind, String subject) {
    return Documents.object("kind", kind, "subject", subject);
  }

  /** Those of its own mount namespace, by their place in the box; none if it ends meanwhile. */
  private static List<String> mounts(Box box) {
    try {
      return Filesystem.read(Path.of("/proc/" + box.initPid() + "/mountinfo"))
          .lines()
          .map(line -> line.split(" ")[4])
          .toList();
    } catch (KernelException | RuntimeException e) {
      return List.of();
    }
  }

  /** What its commands have used so far, where the kernel counts it. */
  static Optional<Map<String, Object>> usage(ServedBox served) {
    if (!served.state().isAlive()) {
      return Optional.empty();
    }
    try {
      return served.box().enclosure().usage().map(Documents::usage);
    } catch (KernelException e) {
      return Optional.empty();
    }
  }
}
