package dev.ebb.process;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The two processes around a daemon ({@code init/keep.c}): its ancestors, and Ebb's to move. */
public final class Keeper {
  /** Says who they are; the first is the outer one. */
  private static final String VARIABLE = "EBB_KEEPER";

  private static final int MOST = 2;

  private Keeper() {}

  /** Those of this process that live. */
  public static List<Integer> pids() {
    return pids(System.getenv().getOrDefault(VARIABLE, ""), ProcessHandle.current());
  }

  /** A variable outlives the processes it names, so they count only as ancestors. */
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
