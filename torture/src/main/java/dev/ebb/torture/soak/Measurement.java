package dev.ebb.torture.soak;

import dev.ebb.oracle.Cgroups;
import dev.ebb.oracle.DiskUse;
import dev.ebb.oracle.Footprint;
import dev.ebb.oracle.Mounts;
import dev.ebb.oracle.OneHome;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.oracle.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The resources of an idle daemon at one moment, and the traces of its home on the host.
 *
 * @param values the measured values by name
 */
record Measurement(long runs, Footprint footprint, Map<String, Double> values) {
  static final String MEMORY = "memory";
  static final String STATE = "state";

  static Measurement of(long runs, int daemon, OneHome home) throws IOException {
    Footprint footprint = Footprint.of(daemon);
    var values = new LinkedHashMap<String, Double>();
    values.put("descriptors", count(footprint, " descriptor"));
    values.put("threads", threads(footprint));
    values.put(MEMORY, memory(daemon));
    ProcessTable processes = ProcessTable.read();
    values.put(
        "processes", (double) processes.entries().stream().filter(processes::isBelowUs).count());
    values.put("cgroups", ours(new Cgroups(home).look(processes)));
    values.put("mounts", ours(new Mounts(home).look(processes)));
    DiskUse disk = DiskUse.of(home.path());
    values.put("inodes", (double) disk.inodes());
    values.put(STATE, (double) disk.bytes());
    new TreeMap<>(footprint.counts()).forEach((kind, count) -> values.put(kind, (double) count));
    return new Measurement(runs, footprint, values);
  }

  private static double count(Footprint footprint, String suffix) {
    return footprint.counts().entrySet().stream()
        .filter(each -> each.getKey().endsWith(suffix))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  private static double threads(Footprint footprint) {
    return footprint.sum() - count(footprint, " descriptor");
  }

  private static double memory(int pid) throws IOException {
    var lines = Proc.lines(Path.of("/proc", Integer.toString(pid), "status"));
    return 1024
        * Double.parseDouble(Proc.field(lines, "VmRSS").orElseThrow().split(" ")[0].strip());
  }

  private static double ours(List<Trace> traces) {
    return traces.stream().filter(trace -> !trace.neighbours()).count();
  }
}
