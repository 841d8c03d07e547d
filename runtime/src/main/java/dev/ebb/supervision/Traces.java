package dev.ebb.supervision;

import dev.ebb.box.BoxRecord;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Subtrees;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.BoxId;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Home;
import dev.ebb.store.LogDirectory;
import dev.ebb.store.RecordStores;
import dev.ebb.store.UidClaims;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Everything on the host with the identity of a home's instances, independent of their ledgers:
 * cgroups by name and mark, uids by claim, boxes by directory and record. It repairs a ledger that
 * was emptied, cut or lost.
 */
public final class Traces {
  private static final String LANE = "-lane";

  private final Home home;
  private final Subtrees subtrees;

  private Traces(Home home, Subtrees subtrees) {
    this.home = home;
    this.subtrees = subtrees;
  }

  /** Scans the host. */
  public static Traces look(Home home) throws KernelException {
    return new Traces(home, Subtrees.find());
  }

  /**
   * Returns the cgroups of an instance of this home. SAFETY: none that is marked as another home's.
   */
  private List<Path> cgroups(String instance) {
    return subtrees.of(instance).stream()
        .filter(path -> Subtrees.homeOf(path).map(home.identity()::equals).orElse(Boolean.TRUE))
        .toList();
  }

  /** Returns whether an instance has cgroups or a living box, so it is of this boot. */
  public boolean has(String instance) throws IOException {
    if (!cgroups(instance).isEmpty()) {
      return true;
    }
    for (Path box : directories(home.directory(instance))) {
      if (lives(box)) {
        return true;
      }
    }
    return false;
  }

  /**
   * SAFETY: a pid of an earlier boot may belong to any process by now, so init must identify its
   * box.
   */
  private static boolean lives(Path box) {
    String id = String.valueOf(box.getFileName());
    return record(new LogDirectory(box))
        .flatMap(BoxRecord::init)
        .filter(ProcessRef::isAlive)
        .filter(init -> ProcFs.commandLine(init.pid()).contains(id))
        .isPresent();
  }

  /**
   * Returns the instances of this home whose directory is gone while other resources remain.
   *
   * <p>SAFETY: an instance is ours only by a claim that leads into this home, or by a mark of this
   * home.
   */
  Set<String> withoutDirectory() throws IOException {
    var lost = new TreeSet<String>();
    for (UidClaims.Claim claim : home.claims().abandoned()) {
      if (home.isPlaceOf(claim.instance())) {
        lost.add(String.valueOf(claim.instance().getFileName()));
      }
    }
    for (String instance : subtrees.instances()) {
      boolean isOurs =
          subtrees.of(instance).stream()
              .anyMatch(path -> Subtrees.homeOf(path).filter(home.identity()::equals).isPresent());
      if (isOurs && Files.notExists(home.directory(instance), LinkOption.NOFOLLOW_LINKS)) {
        lost.add(instance);
      }
    }
    return lost;
  }

  /** Returns the resources of an instance by box; its own are under the empty name. */
  Map<String, List<Ledger.Entry>> entries(String instance, Path directory)
      throws KernelException, IOException {
    var found = new LinkedHashMap<String, List<Ledger.Entry>>();
    for (Path subtree : cgroups(instance)) {
      add(found, "", Kind.CGROUP, subtree.toString());
    }
    for (Path directoryOfBox : directories(directory)) {
      addDirectory(found, directoryOfBox);
    }
    for (Path subtree : cgroups(instance)) {
      for (Path cgroup : Subtrees.boxes(subtree)) {
        addCgroup(found, cgroup);
      }
    }
    for (String box : found.keySet()) {
      if (!box.isEmpty() && found.get(box).stream().noneMatch(each -> each.kind() == Kind.USER)) {
        addFromRecord(found, box, new LogDirectory(directory.resolve(box)));
      }
    }
    return found;
  }

  private static void add(
      Map<String, List<Ledger.Entry>> found, String box, Kind kind, String subject) {
    found.computeIfAbsent(box, _ -> new ArrayList<>()).add(new Ledger.Entry(kind, subject));
  }

  private static List<Path> directories(Path parent) throws IOException {
    if (Files.notExists(parent)) {
      return List.of();
    }
    try (var entries = Files.list(parent)) {
      return entries
          .filter(entry -> Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS))
          .filter(entry -> isBox(entry.getFileName().toString()))
          .sorted()
          .toList();
    }
  }

  private static boolean isBox(String name) {
    try {
      return !new BoxId(name).value().isEmpty();
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static void addDirectory(Map<String, List<Ledger.Entry>> found, Path directory) {
    String box = directory.getFileName().toString();
    add(found, box, Kind.DIRECTORY, directory.toString());
    var logs = new LogDirectory(directory);
    // An invalid record detaches no box: any process may have put it there.
    if (record(logs).isPresent()) {
      add(found, box, Kind.RECORD, logs.recordFile().toString());
    }
  }

  private static void addCgroup(Map<String, List<Ledger.Entry>> found, Path cgroup)
      throws IOException {
    String name = cgroup.getFileName().toString();
    String box = name.endsWith(LANE) ? name.substring(0, name.length() - LANE.length()) : name;
    add(found, box, Kind.CGROUP, cgroup.toString());
    // The user of the box may clone into it, and so owns this file.
    Path procs = cgroup.resolve("cgroup.procs");
    if (new Cgroup(cgroup).isVersion2() && Files.exists(procs)) {
      int uid = (Integer) Files.getAttribute(procs, "unix:uid");
      if (uid != Self.uid()) {
        add(found, box, Kind.USER, Integer.toString(uid));
      }
    }
  }

  /** Finds a box without cgroups by its record, if that can be read. */
  private static void addFromRecord(
      Map<String, List<Ledger.Entry>> found, String box, LogDirectory directory) {
    Optional<BoxRecord> record = record(directory);
    record
        .flatMap(BoxRecord::init)
        .filter(ProcessRef::isAlive)
        .ifPresent(
            init -> {
              if (record.get().uid() != Self.uid()) {
                add(found, box, Kind.USER, Integer.toString(record.get().uid()));
              }
              add(found, box, Kind.PROCESS, init.toString());
            });
  }

  private static Optional<BoxRecord> record(LogDirectory directory) {
    try {
      return Optional.of(BoxRecord.read(RecordStores.boxIn(directory)));
    } catch (IOException e) {
      // Its adoption reports this.
      return Optional.empty();
    }
  }

  /** Returns it with a line for everything on the host that its ledger does not list. */
  DeadInstance addTo(DeadInstance dead) throws KernelException, IOException {
    boolean sameBoot = dead.sameBoot() || has(dead.id());
    var all = new ArrayList<>(dead.holdings());
    unlisted(dead.id(), dead.directory(), dead.holdings())
        .forEach(
            (box, entries) ->
                entries.forEach(each -> all.add(new Holding(0, box, each.kind(), each.subject()))));
    return new DeadInstance(dead.id(), dead.directory(), sameBoot, all);
  }

  /** Returns the resources of an instance that {@code listed} does not name, by box. */
  public Map<String, List<Ledger.Entry>> unlisted(
      String instance, Path directory, List<Holding> listed) throws KernelException, IOException {
    var names = new LinkedHashSet<Ledger.Entry>();
    listed.forEach(held -> names.add(new Ledger.Entry(held.kind(), held.subject())));
    var found = entries(instance, directory);
    found.values().forEach(entries -> entries.removeIf(names::contains));
    found.values().removeIf(List::isEmpty);
    return found;
  }

  /** Returns the processes that run as a uid claimed for an instance, in any cgroup. */
  List<Holding> processes(DeadInstance dead) throws IOException {
    List<UidClaims.Claim> claims = home.claims().of(dead.directory());
    if (claims.isEmpty()) {
      return List.of();
    }
    var others = new OtherInstances(dead.id());
    return ProcFs.all().stream()
        .filter(pid -> isAmong(claims, pid) && !others.have(pid))
        .map(ProcessRef::of)
        .flatMap(Optional::stream)
        .filter(ProcessRef::isAlive)
        // This name matches no session, so each process is ended separately.
        .map(process -> new Holding(0, dead.id(), Kind.PROCESS, process.toString()))
        .toList();
  }

  private static boolean isAmong(List<UidClaims.Claim> claims, int pid) {
    return ProcFs.uid(pid).stream().anyMatch(uid -> claims.stream().anyMatch(c -> c.has(uid)));
  }
}
