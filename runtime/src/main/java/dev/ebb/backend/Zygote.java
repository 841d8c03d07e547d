package dev.ebb.backend;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An interpreter that a forkserver executes once its template is ready: each box it makes has a
 * copy of it as init, and the first command there can be a copy that goes on ({@code
 * init/make/zygote.c}).
 *
 * @param command contains the argument {@link #ROLE}, by which its processes are found
 * @param environment lines of {@code NAME=value}
 */
public record Zygote(List<String> command, List<String> environment) {
  /** An argument in its command line, as in that of every forkserver. */
  public static final String ROLE = "forkserver";

  public Zygote {
    command = List.copyOf(command);
    environment = List.copyOf(environment);
    if (!command.contains(ROLE)) {
      throw new IllegalArgumentException("a zygote that could not be found: " + command);
    }
  }

  /** Encodes it for {@code init/make/zygote_exec.c}. */
  public String words() {
    return Stream.of(command, List.of(""), environment)
        .flatMap(List::stream)
        .map(word -> word + "\0")
        .collect(Collectors.joining());
  }
}
