package dev.ebb.backend.bubblewrap;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An interpreter that a forkserver becomes when its template is there: each box it makes has a copy
 * of it as init, and the first command there can be a copy that goes on ({@code
 * init/make/zygote.c}).
 *
 * @param command one of its words is {@link Forkserver#NAME}, by which its processes are found
 * @param environment lines of {@code NAME=value}
 */
public record Zygote(List<String> command, List<String> environment) {
  /** Stands for it where a box has its id: on the ledger, and as its cgroup. */
  public static final String NAME = "zygote";

  public Zygote {
    command = List.copyOf(command);
    environment = List.copyOf(environment);
    if (!command.contains(Forkserver.NAME)) {
      throw new IllegalArgumentException("a zygote that could not be found: " + command);
    }
  }

  /** As {@code init/make/zygote_exec.c} reads it. */
  String words() {
    return Stream.of(command, List.of(""), environment)
        .flatMap(List::stream)
        .map(word -> word + "\0")
        .collect(Collectors.joining());
  }
}
