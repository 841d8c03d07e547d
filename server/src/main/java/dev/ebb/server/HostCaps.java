package dev.ebb.server;

import dev.ebb.admission.Gauges;
import dev.ebb.admission.Resource;
import dev.ebb.admission.Thresholds;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.Limits;
import dev.ebb.server.service.access.Caps;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;

/**
 * The default caps of one box: the resources of the host. Without caps a box could ask for a
 * petabyte or four million processes, which is no limit.
 *
 * @param memory in bytes, by the nearest of all limits that apply to this process
 * @param pids by the nearest limit
 */
record HostCaps(long memory, long pids, double cpus) {
  static final String ORIGIN = "this host";

  private static final long MEBIBYTE = 1 << 20;

  static HostCaps ofThisHost() {
    try {
      var readings = new Gauges(Path.of("/"), Thresholds.DEFAULT).read();
      return new HostCaps(
          readings.of(Resource.MEMORY).limit(),
          readings.of(Resource.PIDS).limit(),
          Runtime.getRuntime().availableProcessors());
    } catch (KernelException e) {
      throw new IllegalStateException("cannot read the size of this host: " + e.getMessage(), e);
    }
  }

  /** Returns them in the form of the configuration file. */
  Map<ConfigurationKey, String> texts() {
    String size = Math.max(Limits.LEAST_MEMORY.bytes(), memory) / MEBIBYTE + "m";
    var texts = new EnumMap<ConfigurationKey, String>(ConfigurationKey.class);
    texts.put(ConfigurationKey.MEMORY, size);
    texts.put(ConfigurationKey.DISK, size);
    texts.put(ConfigurationKey.PIDS, Long.toString(Math.clamp(pids, 1, Caps.ANY_PIDS)));
    texts.put(ConfigurationKey.CPUS, cpus == (int) cpus ? "" + (int) cpus : "" + cpus);
    return texts;
  }
}
