package dev.ebb.model;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A process that outlived SIGKILL: it sleeps in the kernel until something there lets it go.
 *
 * @param state its state letter; D is the one that nothing can interrupt
 * @param waitChannel the kernel function it waits in
 * @param file what the system call it is in was made on; empty when that cannot be told
 */
public record StuckProcess(int pid, char state, String waitChannel, String file) {
  public static String describe(List<StuckProcess> processes) {
    return processes.stream()
        .map(process -> "pid " + process.pid + " (" + process.describe() + ")")
        .collect(Collectors.joining(", "));
  }

  /** For people: {@code state D, waits in rwsem_down_read_slowpath, on /data/file}. */
  public String describe() {
    return "state " + state + ", waits in " + waitChannel + (file.isEmpty() ? "" : ", on " + file);
  }
}
