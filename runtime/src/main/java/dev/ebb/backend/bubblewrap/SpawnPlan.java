package dev.ebb.backend.bubblewrap;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command line of a role of ebb-init, and the descriptors that it names. */
public final class SpawnPlan {
  private static final Path DEV_NULL = Path.of("/dev/null");
  private static final int MAX_LOG = 4096;

  private final Scope scope;
  private final List<Fd> fds = new ArrayList<>();
  private final List<String> words = new ArrayList<>();

  /** Begins the plan for the role named by {@code words}, which writes errors to {@code log}. */
  public SpawnPlan(Scope scope, Fd log, String... words) throws KernelException {
    this.scope = scope;
    Fd nothing = Fd.open(scope, DEV_NULL, Fd.Flag.READ_WRITE);
    pass(nothing);
    pass(nothing);
    pass(log);
    add("ebb-init");
    add(words);
  }

  /** Returns the errors written there, to append to another text. */
  public static String message(Fd log) throws KernelException {
    byte[] text = new byte[MAX_LOG];
    int n = log.readAt(0, text, 0, text.length);
    return n <= 0 ? "" : ": " + new String(text, 0, n, StandardCharsets.UTF_8).strip();
  }

  public int pass(Fd fd) {
    fds.add(fd);
    return fds.size() - 1;
  }

  public void add(String... more) {
    words.addAll(List.of(more));
  }

  public void add(List<String> more) {
    words.addAll(more);
  }

  public void option(String name, Fd fd) {
    add(name, Integer.toString(pass(fd)));
  }

  public void option(String name, int number) {
    add(name, Integer.toString(number));
  }

  public static Fd directory(Scope scope, Path path) throws KernelException {
    return Fd.open(scope, path, Fd.Flag.READ, Fd.Flag.DIRECTORY);
  }

  /** Passes the files that are generated for each box; returns the number of the first. */
  public int made() throws KernelException {
    int first = fds.size();
    for (var made : BwrapCommandLine.MADE) {
      option("--keep", text(made.content()));
    }
    return first;
  }

  /** Returns a pipe that holds content short enough for its buffer. */
  private Fd text(String content) throws KernelException {
    Fd.Pipe pipe = Fd.pipe(scope, scope);
    pipe.write().write(content);
    scope.release(pipe.write());
    return pipe.read();
  }

  public List<String> words() {
    return words;
  }

  public List<Fd> fds() {
    return fds;
  }
}
