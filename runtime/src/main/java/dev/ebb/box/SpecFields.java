package dev.ebb.box;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ByteSize;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The fields of a journal entry that hold the specification of a box. */
final class SpecFields {
  static final String NETWORK = "network";

  private SpecFields() {}

  static JournalEntry add(JournalEntry entry, BoxSpec spec) {
    Limits limits = spec.limits();
    JournalEntry more =
        entry
            .with("memory", limits.memory().bytes())
            .with("pids", limits.pids())
            .with("cpus", limits.cpus())
            .with("disk", limits.disk().bytes())
            .with("temporary", limits.temporary().bytes())
            .with(NETWORK, spec.network())
            .withAll("package", spec.packages());
    for (Mount mount : spec.mounts()) {
      more =
          more.with("mount-host", mount.host())
              .with("mount-box", mount.box())
              .with("mount-read-only", mount.readOnly());
    }
    return more;
  }

  static BoxSpec read(JournalEntry entry) throws IOException {
    var limits =
        new Limits(
            new ByteSize(entry.number("memory")),
            entry.integer("pids"),
            Double.parseDouble(entry.text("cpus")),
            new ByteSize(entry.number("disk")),
            new ByteSize(entry.number("temporary")));
    // Copied files are in the box; mounts are recorded, and not resolved again.
    return new BoxSpec(
        limits,
        Network.parse(entry.text(NETWORK)),
        mounts(entry),
        entry.texts("package").stream().map(Path::of).toList(),
        List.of(),
        Optional.empty());
  }

  private static List<Mount> mounts(JournalEntry entry) {
    List<String> hosts = entry.texts("mount-host");
    List<String> boxes = entry.texts("mount-box");
    List<String> readOnly = entry.texts("mount-read-only");
    var mounts = new ArrayList<Mount>();
    for (int i = 0; i < hosts.size(); i++) {
      mounts.add(
          new Mount(Path.of(hosts.get(i)), boxes.get(i), Boolean.parseBoolean(readOnly.get(i))));
    }
    return mounts;
  }
}
