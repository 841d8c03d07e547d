package dev.ebb.testkit;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Proc;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.oracle.Trace;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The virtual threads of this JVM: they have no PIDs, but hold resources like other threads. */
final class VirtualThreads {
  private static final Pattern LINE = Pattern.compile("#(\\d+) \"(.*)\" virtual.*");

  /** Wait for sockets on behalf of virtual threads: the JDK's own. */
  private static final String POLLER = "SubPoller-";

  private VirtualThreads() {}

  static List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (String line : dump()) {
      var matcher = LINE.matcher(line);
      if (matcher.matches() && !matcher.group(2).startsWith(POLLER)) {
        traces.add(new Trace(Invariant.I7, "virtual thread", "#" + matcher.group(1), line));
      }
    }
    return traces;
  }

  private static List<String> dump() throws IOException {
    // The bean insists on making the file itself.
    Path directory = Files.createTempDirectory("threads");
    Path file = directory.resolve("dump");
    try {
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .dumpThreads(file.toString(), ThreadDumpFormat.TEXT_PLAIN);
      return Proc.lines(file);
    } finally {
      Files.deleteIfExists(file);
      Files.delete(directory);
    }
  }
}
