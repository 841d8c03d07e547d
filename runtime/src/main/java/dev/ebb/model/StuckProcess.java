package dev.ebb.model;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A process that outlived SIGKILL: it sleeps in the kernel until something there wakes it.
 *
 * @param state its state letter; D means uninterruptible
 * @param waitChannel the kernel function it waits in
 * @param file the file that its system call works on; empty if unknown
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
