package dev.ebb.store;

import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The leftovers of a dead instance: its ledger, claimed by this process.
 *
 * @param sameBoot false if the host was restarted since: then no process or cgroup of it exists
 */
public record DeadInstance(String id, Path directory, boolean sameBoot, List<Holding> holdings) {
  /** Returns a part of its leftovers: the lines that match {@code which}. */
  public DeadInstance only(Predicate<Holding> which) {
    return new DeadInstance(id, directory, sameBoot, holdings.stream().filter(which).toList());
  }

  /**
   * Adds a line for each of its directories that the ledger does not list: an interrupted sweep
   * found it, or another process made it.
   */
  public DeadInstance withUnlisted() throws IOException {
    var all = new ArrayList<>(holdings);
    try (var entries = Files.list(directory)) {
      entries
          .filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
          .map(Path::toString)
          .filter(entry -> holdings.stream().noneMatch(held -> held.subject().equals(entry)))
          .forEach(entry -> all.add(new Holding(0, "", Kind.DIRECTORY, entry)));
    }
    return new DeadInstance(id, directory, sameBoot, all);
  }

  /**
   * Returns the boxes that outlive their engine and wait for the next. A box without a begun record
   * was not detached yet; a box whose record is gone is released except for its last lines.
   */
  public Set<String> detached() {
    return sameBoot
        ? holdings.stream()
            .filter(holding -> holding.kind() == Kind.RECORD)
            .filter(holding -> Files.exists(Path.of(holding.subject())))
            .map(Holding::box)
            .collect(Collectors.toSet())
        : Set.of();
  }

  static DeadInstance read(Path directory, UidClaims claims) throws KernelException, IOException {
    return new DeadInstance(
        String.valueOf(directory.getFileName()),
        directory,
        isOfThisBoot(directory, claims),
        Ledger.read(directory.resolve("ledger")));
  }

  /**
   * An instance records when it was made. Without its description it is of this boot if it has a
   * claim, since no claim outlives a boot.
   */
  static boolean isOfThisBoot(Path directory, UidClaims claims)
      throws KernelException, IOException {
    Optional<String> boot = Instance.field(directory, "boot");
    return boot.isPresent() ? boot.get().equals(Home.bootId()) : !claims.of(directory).isEmpty();
  }
}
