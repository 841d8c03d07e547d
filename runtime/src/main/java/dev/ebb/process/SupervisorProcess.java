package dev.ebb.process;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The two supervisor processes of a daemon ({@code init/host/supervise.c}). They are its parent and
 * its grandparent, and the engine may move them to another cgroup.
 */
public final class SupervisorProcess {
  /** Holds the pids of both; the first is the outer process. */
  private static final String VARIABLE = "EBB_SUPERVISOR";

  private static final int MOST = 2;

  private SupervisorProcess() {}

  /** The living supervisor processes of this process. */
  public static List<Integer> pids() {
    return pids(System.getenv().getOrDefault(VARIABLE, ""), ProcessHandle.current());
  }

  /** The variable may outlive the processes it names, so only ancestors count. */
  static List<Integer> pids(String named, ProcessHandle process) {
    List<String> names = List.of(named.split(" "));
    return Stream.iterate(process.parent(), each -> each.flatMap(ProcessHandle::parent))
        .limit(MOST)
        .flatMap(Optional::stream)
        .map(ProcessHandle::pid)
        .filter(pid -> names.contains(Long.toString(pid)))
        .map(Math::toIntExact)
        .toList();
  }
}
