package dev.ebb.exec;

import dev.ebb.box.Box;
import dev.ebb.box.ExecSite;
import dev.ebb.kernel.KernelException;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The execs of a detached box that an earlier engine started. */
public final class ExecAdoption {
  private ExecAdoption() {}

  /**
   * Reads the execs from the journal of the box. Running ones go on; init reports soon what
   * happened to them.
   */
  public static List<Exec> adopt(Box box, List<JournalEntry> entries)
      throws KernelException, IOException {
    ExecSite site = box.execSite();
    var execs = new ArrayList<Exec>();
    for (ExecRecord record : ExecRecord.of(entries)) {
      var exec = new Exec(site, record, site.openScope(), Optional.empty(), Optional.empty());
      execs.add(exec);
      if (record.spec().operator()) {
        site.leaf(record.number()).foundInLane();
      }
      if (record.end().isEmpty()) {
        exec.input().adopt();
      }
      exec.adopt(record.end());
      boolean isOver = record.end().filter(end -> end.leftovers().kept().isEmpty()).isPresent();
      if (isOver) {
        site.leaf(record.number()).abandon();
      }
    }
    return execs;
  }
}
