package dev.ebb.supervision;

import static java.util.Objects.requireNonNull;

import dev.ebb.cgroup.Hierarchies;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Kind;
import dev.ebb.store.Instance;
import dev.ebb.store.LogDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/**
 * Finds files and cgroups in the places of an instance's boxes that are not on its ledger.
 *
 * <p>ORDER: first the host, then the ledger, then the host again, see {@link Audit}.
 */
final class StrayFiles {
  private final Instance instance;
  private final Hierarchies hierarchies;

  StrayFiles(Instance instance, Hierarchies hierarchies) {
    this.instance = instance;
    this.hierarchies = hierarchies;
  }

  record Stray(Kind kind, Path path) {}

  /** Cgroups and directories. */
  List<Stray> places() throws IOException {
    var seen = new ArrayList<Stray>();
    for (Path root : subtrees()) {
      directories(root).forEach(path -> seen.add(new Stray(Kind.CGROUP, path)));
    }
    directories(instance.directory()).forEach(path -> seen.add(new Stray(Kind.DIRECTORY, path)));
    return without(seen, (listed, each) -> listed.contains(entry(each.kind, each.path)));
  }

  /**
   * Lists the cgroups of this process, and those that an earlier process made below its own
   * cgroups.
   */
  private Set<Path> subtrees() {
    var all = new LinkedHashSet<>(hierarchies.everywhere(instance.id()));
    instance.ledger().holdings().stream()
        .filter(held -> held.box().isEmpty() && held.kind() == Kind.CGROUP)
        .map(held -> Path.of(held.subject()))
        .filter(path -> path.endsWith(instance.id()))
        .forEach(all::add);
    return all;
  }

  /** Lists records and sockets of boxes that are not detached, in directories of boxes. */
  List<Stray> files() throws IOException {
    var seen = new ArrayList<Stray>();
    for (Path directory : directories(instance.directory())) {
      var logs = new LogDirectory(directory);
      seen.add(new Stray(Kind.RECORD, logs.recordFile()));
      seen.add(new Stray(Kind.SOCKET, logs.control()));
    }
    seen.removeIf(each -> !exists(each.path));
    return without(seen, (listed, each) -> belongs(listed, each.path));
  }

  /** Returns whether a file belongs to a detached box, or to a directory that is a stray itself. */
  private static boolean belongs(Set<Ledger.Entry> listed, Path file) {
    Path directory = requireNonNull(file.getParent());
    return listed.contains(entry(Kind.RECORD, new LogDirectory(directory).recordFile()))
        || !listed.contains(entry(Kind.DIRECTORY, directory));
  }

  private List<Stray> without(List<Stray> seen, BiPredicate<Set<Ledger.Entry>, Stray> isListed) {
    Set<Ledger.Entry> listed =
        instance.ledger().holdings().stream()
            .map(held -> new Ledger.Entry(held.kind(), held.subject()))
            .collect(Collectors.toSet());
    return seen.stream()
        .filter(each -> !isListed.test(listed, each))
        .filter(each -> exists(each.path))
        .toList();
  }

  private static Ledger.Entry entry(Kind kind, Path path) {
    return new Ledger.Entry(kind, path.toString());
  }

  private static boolean exists(Path path) {
    return Files.exists(path, LinkOption.NOFOLLOW_LINKS);
  }

  private static List<Path> directories(Path parent) throws IOException {
    if (!exists(parent)) {
      return List.of();
    }
    try (var entries = Files.list(parent)) {
      return entries.filter(path -> Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)).toList();
    }
  }
}
