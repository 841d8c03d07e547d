package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Files in homes beyond those that always stay there, and every ledger line not struck out. */
public final class HomeFiles implements Detector {
  private static final Set<String> FOR_GOOD =
      Set.of(
          "",
          "lock",
          "lib",
          "instances",
          "daemon",
          "daemon.log",
          "keys",
          "keys.lock",
          "quotas",
          "quotas.lock",
          "history",
          "certificates");

  private final Supplier<Set<Path>> homes;

  /** Looks in the homes that there are at the moment of the look. */
  public HomeFiles(Supplier<Set<Path>> homes) {
    this.homes = homes;
  }

  @Override
  public List<Trace> look(ProcessTable processes) throws IOException {
    var traces = new ArrayList<Trace>();
    for (Path home : homes.get()) {
      if (Files.isDirectory(home)) {
        Files.walkFileTree(home, new Visitor(home, traces));
      }
    }
    return traces;
  }

  private static final class Visitor extends SimpleFileVisitor<Path> {
    private final Path home;
    private final List<Trace> traces;

    Visitor(Path home, List<Trace> traces) {
      this.home = home;
      this.traces = traces;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
      add("directory", directory);
      return directory.equals(home.resolve("lib"))
          ? FileVisitResult.SKIP_SUBTREE
          : FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
      add("file", file);
      if (file.endsWith("ledger")) {
        addLedger(file);
      }
      return FileVisitResult.CONTINUE;
    }

    private void add(String kind, Path path) {
      if (!FOR_GOOD.contains(home.relativize(path).toString())) {
        traces.add(new Trace(Invariant.I6, kind, path.toString(), path.toString()));
      }
    }

    /** Lines are {@code <checksum> + <number> …} or {@code <checksum> - <number>}. */
    private void addLedger(Path ledger) throws IOException {
      var held = new LinkedHashMap<String, String>();
      for (String line : Proc.lines(ledger)) {
        String[] words = line.split(" ", 4);
        if (words.length > 2 && words[1].equals("+")) {
          held.put(words[2], line);
        } else if (words.length > 2) {
          held.remove(words[2]);
        }
      }
      held.forEach(
          (number, line) ->
              traces.add(
                  new Trace(
                      Invariant.I8, "ledger line", ledger + " " + number, ledger + ": " + line)));
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
      return tolerate(e);
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e)
        throws IOException {
      return e == null ? FileVisitResult.CONTINUE : tolerate(e);
    }

    private static FileVisitResult tolerate(IOException e) throws IOException {
      if (Proc.isGone(e)) {
        return FileVisitResult.CONTINUE;
      }
      throw e;
    }
  }
}
