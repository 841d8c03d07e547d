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
 * What a dead instance left: its ledger, claimed by this process.
 *
 * @param sameBoot false when the host was restarted since: then no process or cgroup of it exists
 */
public record DeadInstance(String id, Path directory, boolean sameBoot, List<Holding> holdings) {
  /** A part of what it left: the lines that {@code which} is true of. */
  public DeadInstance only(Predicate<Holding> which) {
    return new DeadInstance(id, directory, sameBoot, holdings.stream().filter(which).toList());
  }

  /**
   * Adds a line for each of its directories that the ledger does not list: a sweep that broke off
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
   * The boxes that outlive their engine, and wait for the next. One whose record was not begun was
   * not detached yet, one whose record is gone is released but for that.
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
   * An instance says when it was made; one whose description is lost is of this boot if it has a
   * claim, for no claim outlives a boot.
   */
  static boolean isOfThisBoot(Path directory, UidClaims claims)
      throws KernelException, IOException {
    Optional<String> boot = Instance.field(directory, "boot");
    return boot.isPresent() ? boot.get().equals(Home.bootId()) : !claims.of(directory).isEmpty();
  }
}
