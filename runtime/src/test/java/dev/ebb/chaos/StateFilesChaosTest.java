package dev.ebb.chaos;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.BoxRecord;
import dev.ebb.cgroup.Cgroup;
import dev.ebb.cgroup.Subtrees;
import dev.ebb.engine.AdoptedBoxes;
import dev.ebb.engine.Engine;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.kernel.Signal;
import dev.ebb.ledger.SealedLine;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.SandboxException;
import dev.ebb.process.ProcFs;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.FileJournal;
import dev.ebb.supervision.Recovery;
import dev.ebb.testkit.ChildJvm;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every file that a killed daemon leaves, damaged in every way: the next daemon starts, or refuses
 * and names the file; each living box is adopted, listed as unreachable, or released with a word;
 * and in the end nothing is left.
 */
@Tag("kernel")
@LeakChecked
@Timeout(300)
final class StateFilesChaosTest {
  private static final String FOREVER = "exec sleep 1000";
  private static final int BOXES = 2;
  private static final Path CLAIMS = Path.of("/run/ebb-uids");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP);

  private enum Place {
    LEDGER("ledger"),
    DESCRIPTION("instance"),
    INSTANCE_LOCK("lock"),
    INSTANCE(""),
    BOX("box"),
    RECORD("box/record"),
    CONTROL("box/control"),
    OUTPUT("box/1.stdout"),
    HOME_LOCK("../../lock"),
    PROGRAM("../../lib"),
    HISTORY("../../history"),
    CLAIM("claim");

    private final String name;

    Place(String name) {
      this.name = name;
    }

    boolean isDirectory() {
      return this == INSTANCE || this == BOX || this == PROGRAM;
    }
  }

  private enum Damage {
    EMPTY,
    TRUNCATED,
    GARBAGE,
    OLDER,
    NEWER,
    MISSING,
    UNREADABLE;

    /** A directory, a socket and a link have no content of ours. */
    boolean applies(Place place) {
      boolean hasContent = !place.isDirectory() && place != Place.CONTROL && place != Place.CLAIM;
      boolean hasVersions =
          place == Place.LEDGER
              || place == Place.DESCRIPTION
              || place == Place.RECORD
              || place == Place.HISTORY;
      return switch (this) {
        case EMPTY, TRUNCATED, GARBAGE -> hasContent;
        case OLDER, NEWER -> hasVersions;
        case MISSING -> true;
        // Ebb does not remove a directory among the output, which keeps its box stuck.
        case UNREADABLE -> hasContent && place != Place.OUTPUT;
      };
    }
  }

  record Case(Place place, Damage damage) {
    @Override
    public String toString() {
      return place + " " + damage;
    }
  }

  static Stream<Case> all() {
    return Arrays.stream(Place.values())
        .flatMap(
            place ->
                Arrays.stream(Damage.values())
                    .filter(damage -> damage.applies(place))
                    .map(damage -> new Case(place, damage)));
  }

  static Stream<Case> worst() {
    return Stream.of(
        new Case(Place.LEDGER, Damage.EMPTY),
        new Case(Place.DESCRIPTION, Damage.EMPTY),
        new Case(Place.INSTANCE, Damage.MISSING),
        new Case(Place.RECORD, Damage.MISSING),
        new Case(Place.HISTORY, Damage.UNREADABLE));
  }

  @AfterEach
  void releaseAll() throws Exception {
    AdoptedBoxes.releaseAll(host);
  }

  @ParameterizedTest
  @MethodSource("worst")
  void noLivingBoxIsLost(Case each) throws Exception {
    walk(each);
  }

  @Tag("long")
  @ParameterizedTest
  @MethodSource("all")
  void noLivingBoxIsLostWhateverIsDamaged(Case each) throws Exception {
    walk(each);
  }

  /** Returns what the killed daemon left. */
  private record Left(
      Path instance, Map<Path, String> inits, List<ProcessRef> members, Path claim) {
    List<Path> boxes() {
      return List.copyOf(inits.keySet());
    }
  }

  private Left killDaemon() throws Exception {
    try (ChildJvm patron = Patron.start(host.home(), BOXES, FOREVER)) {
      patron.awaitLine("ready");
      patron.kill();
    }
    var remains = Remains.of(host.home());
    Path instance;
    try (var instances = Files.list(host.home().resolve("instances"))) {
      instance = instances.findFirst().orElseThrow();
    }
    var inits = new LinkedHashMap<Path, String>();
    for (String record : remains.records()) {
      Path box = requireNonNull(Path.of(record).getParent());
      inits.put(
          box, BoxRecord.read(new FileJournal(Path.of(record))).init().orElseThrow().toString());
    }
    assertThat(inits).hasSize(BOXES);
    // The processes of attached boxes die by themselves.
    Eventually.holds("attached boxes are gone", () -> remains.members().size() == living());
    return new Left(instance, inits, remains.members(), claim(instance).orElse(Path.of("/none")));
  }

  private static int living() {
    // Without cgroups a command has a subreaper.
    return BOXES * (Feature.CGROUPS.isPresent() ? 2 : 3);
  }

  private static Optional<Path> claim(Path instance) throws IOException {
    // Only root claims uids, and reads the claims.
    if (!Files.isReadable(CLAIMS)) {
      return Optional.empty();
    }
    try (var claims = Files.list(CLAIMS)) {
      return claims.filter(link -> leadsTo(link, instance)).findFirst();
    }
  }

  private static boolean leadsTo(Path link, Path instance) {
    try {
      return Files.readSymbolicLink(link).equals(instance);
    } catch (IOException e) {
      // A neighbour's that has just gone.
      return false;
    }
  }

  /** A box of an ordinary user without cgroups is identified only by its directory. */
  private static void requireIdentity() {
    if (!Feature.CGROUPS.isPresent()) {
      TestHost.require(Feature.ROOT);
    }
  }

  private void walk(Case each) throws Exception {
    if (each.place() == Place.INSTANCE || each.place() == Place.BOX) {
      requireIdentity();
    }
    Left left = killDaemon();
    Path path = path(left, each.place());
    Path saved = Files.createTempDirectory(host.home().getParent(), "saved");
    boolean isThere = Files.exists(path, LinkOption.NOFOLLOW_LINKS);
    try {
      if (isThere) {
        damage(path, each, saved.resolve("it"));
      }
      next(left, path, each, saved.resolve("it"));
    } finally {
      remove(saved);
    }
  }

  private static Path path(Left left, Place place) {
    if (place == Place.CLAIM) {
      return left.claim();
    }
    if (place == Place.BOX || place.name.startsWith("box/")) {
      return left.boxes().getFirst().resolve(place.name.replaceFirst("^box/?", ""));
    }
    return left.instance().resolve(place.name).normalize();
  }

  private static void damage(Path path, Case each, Path saved) throws IOException {
    if (each.damage() == Damage.UNREADABLE) {
      Files.move(path, saved);
      // Root may read whatever is a file.
      Files.createDirectory(path);
      return;
    }
    if (each.damage() == Damage.MISSING) {
      remove(path);
      return;
    }
    byte[] whole = Files.readAllBytes(path);
    Files.write(saved, whole);
    Files.write(path, damaged(whole, each));
  }

  private static byte[] damaged(byte[] whole, Case each) {
    String text = new String(whole, ISO_8859_1);
    String damaged =
        switch (each.damage()) {
          case EMPTY, MISSING, UNREADABLE -> "";
          case TRUNCATED -> text.substring(0, text.length() / 2);
          case GARBAGE -> "\0\1\377nonsense\n=\n@\n";
          case OLDER ->
              each.place() == Place.DESCRIPTION
                  ? text.replaceAll("boot=.*", "boot=another")
                      .replaceAll("process=.*", "process=2@3")
                  : text.lines().limit(4).collect(Collectors.joining("\n", "", "\n"));
          case NEWER ->
              each.place() == Place.DESCRIPTION
                  ? text + "shape=round\n"
                  : text + "\n" + SealedLine.seal("+ 9999 b1 ORB /somewhere");
        };
    return damaged.getBytes(ISO_8859_1);
  }

  private void next(Left left, Path path, Case each, Path saved) throws Exception {
    try {
      judge(left, path);
    } catch (SandboxException refusal) {
      assertThat(each.damage()).isIn(Damage.NEWER, Damage.UNREADABLE);
      assertThat(refusal).as("%s: names the file", each).hasMessageContaining(name(path));
      assertThat(left.members())
          .as("%s: a refusal touches nothing", each)
          .allMatch(ProcessRef::isAlive);
      remove(path);
      Files.move(saved, path);
      judge(left, path);
    }
  }

  private static String name(Path path) {
    return path.getFileName().toString();
  }

  /** The next daemon accounts for each box; then all of them end, and nothing is left. */
  private void judge(Left left, Path path) throws Exception {
    var adopted = new HashSet<String>();
    Set<String> released;
    try (Engine engine = Engine.openForDaemon(host.home())) {
      released =
          engine.recovered().stream()
              .filter(finding -> finding.fate() instanceof Recovery.Fate.Released)
              .flatMap(finding -> Arrays.stream(finding.subject().split("/")))
              .collect(Collectors.toSet());
      assertThat(engine.recovered())
          .noneMatch(finding -> finding.fate() instanceof Recovery.Fate.Stuck);
      // However damaged: no attached box is there any more, and none of them keeps a daemon.
      engine.past().open().values().forEach(box -> assertThat(box.end()).isEmpty());
      for (Engine.Adopted each : engine.adopt()) {
        assertThat(each.box().state()).isIn(BoxState.RUNNING, BoxState.UNREACHABLE);
        adopted.add(each.box().id().value());
        Certificate certificate = engine.release(each.box());
        if (!certificate.isClean() && Files.isDirectory(path)) {
          // Ebb does not remove a directory in the place of a file: it reports it.
          assertThat(certificate.toString()).contains(path + ": EISDIR");
          remove(path);
          certificate = engine.release(each.box());
        }
        assertThat(certificate.isClean()).as(certificate.toString()).isTrue();
      }
      // This process inherited those of attached and of released boxes.
      TestHost.reapOrphans();
      assertThat(engine.audit(false)).as("what only a sweep found").isEmpty();
    }
    for (Path box : left.boxes()) {
      // Without cgroups and its directory nothing shows the name of a box: its processes are
      // reported.
      boolean isToldByInit =
          !Feature.CGROUPS.isPresent() && released.contains(left.inits().get(box));
      assertThat(adopted.contains(name(box)) || released.contains(name(box)) || isToldByInit)
          .as("box %s is told of: adopted %s, released %s", box, adopted, released)
          .isTrue();
    }
    assertNothingIsLeft(left);
  }

  private void assertNothingIsLeft(Left left) throws Exception {
    Eventually.holds(
        "every process is dead", () -> left.members().stream().noneMatch(ProcessRef::isAlive));
    TestHost.reapOrphans();
    try (var instances = Files.list(host.home().resolve("instances"))) {
      assertThat(instances).isEmpty();
    }
    assertThat(claim(left.instance())).isEmpty();
    assertThat(Subtrees.find().of(name(left.instance()))).isEmpty();
  }

  private static void remove(Path path) throws IOException {
    if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
      Files.deleteIfExists(path);
      return;
    }
    try (var all = Files.walk(path)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(each);
      }
    }
  }

  /**
   * Returns the findings of one instance; a sweep also reports claims that other runtimes
   * abandoned.
   */
  private List<Recovery.Finding> sweep(Path instance, boolean dryRun) throws IOException {
    return HomeTools.sweep(host.home(), dryRun).stream()
        .filter(finding -> finding.instance().equals(name(instance)))
        .toList();
  }

  private static Path instanceOf(Remains remains) {
    Path box = requireNonNull(Path.of(remains.records().getFirst()).getParent());
    return requireNonNull(box.getParent());
  }

  /** A sweep without a daemon finds a lost instance, too, and a dry run only reports. */
  @Test
  void aSweepFindsAnInstanceWithoutItsDirectory() throws Exception {
    requireIdentity();
    Left left = killDaemon();
    remove(left.instance());
    assertThat(sweep(left.instance(), true))
        .isNotEmpty()
        .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Planned);
    assertThat(left.members()).allMatch(ProcessRef::isAlive);
    assertThat(sweep(left.instance(), false))
        .isNotEmpty()
        .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Released);
    assertNothingIsLeft(left);
    assertThat(sweep(left.instance(), false)).isEmpty();
  }

  /** A process of a box that was moved elsewhere is known by its uid alone. */
  @Test
  void aSweepEndsAProcessOfALostInstanceThatIsInNoneOfItsCgroups() throws Exception {
    TestHost.require(Feature.ROOT);
    Left left = killDaemon();
    int uid = ProcFs.uid(left.members().getFirst().pid()).orElseThrow();
    String user = Integer.toString(uid);
    Process stray =
        new ProcessBuilder(
                "setpriv", "--reuid", user, "--regid", user, "--clear-groups", "sleep", "1000")
            .start();
    try {
      Eventually.holds(
          "it has the uid",
          () -> ProcFs.uid((int) stray.pid()).stream().anyMatch(found -> found == uid));
      remove(left.instance());
      sweep(left.instance(), false);
      assertThat(stray.waitFor(10, TimeUnit.SECONDS)).as("the stray is killed").isTrue();
    } finally {
      stray.destroyForcibly();
    }
    assertNothingIsLeft(left);
  }

  private static boolean hasCgroups(Path instance) throws KernelException {
    return !Subtrees.find().of(name(instance)).isEmpty();
  }

  /** Also processes that die with their daemon, a moment later. */
  private static boolean hasMembers(Path instance) throws KernelException {
    for (Path cgroup : Subtrees.find().of(name(instance))) {
      if (!new Cgroup(cgroup).allProcs().isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private static void end(List<ProcessRef> members, Path instance) throws Exception {
    for (ProcessRef member : members) {
      member.signal(Signal.KILL);
    }
    Eventually.holds(
        "all are dead",
        () -> members.stream().noneMatch(ProcessRef::isAlive) && !hasMembers(instance));
    TestHost.reapOrphans();
  }

  /** Another home was removed with all its content after its daemon was killed with its boxes. */
  private Path removeAnotherHome() throws Exception {
    Path other = host.home().resolveSibling("other-" + System.nanoTime());
    Path instance;
    try (ChildJvm patron = Patron.start(other, 1, FOREVER)) {
      patron.awaitLine("ready");
      var remains = Remains.of(other);
      instance = instanceOf(remains);
      var members = remains.members();
      patron.kill();
      end(members, instance);
    }
    remove(other);
    return instance;
  }

  /**
   * Neither its claim nor its cgroups are left, and the one is not given back without the other.
   */
  @Test
  void aSweepGivesBackWhatAnotherHomeLeftThatWasRemoved() throws Exception {
    Path gone = removeAnotherHome();
    boolean hasCgroups = hasCgroups(gone);
    assertThat(sweep(gone, true))
        .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Planned);
    assertThat(hasCgroups(gone)).isEqualTo(hasCgroups);
    assertThat(sweep(gone, false))
        .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Released);
    assertThat(claim(gone)).isEmpty();
    assertThat(hasCgroups(gone)).isFalse();
    assertThat(sweep(gone, false)).isEmpty();
  }

  /** An earlier sweep may have taken the claim alone. */
  @Test
  void aSweepFindsTheCgroupsOfARemovedHomeByTheirMark() throws Exception {
    Path gone = removeAnotherHome();
    if (claim(gone).isPresent()) {
      Files.delete(claim(gone).get());
    }
    sweep(gone, false);
    assertThat(hasCgroups(gone)).isFalse();
  }

  /** Its boxes may belong to a process that we cannot see. */
  @Test
  void aSweepLeavesARemovedHomeAloneWhileAProcessIsInItsCgroups() throws Exception {
    Path other = host.home().resolveSibling("other-" + System.nanoTime());
    Path instance;
    List<ProcessRef> members;
    try (ChildJvm patron = Patron.start(other, 1, FOREVER)) {
      patron.awaitLine("ready");
      var remains = Remains.of(other);
      instance = instanceOf(remains);
      members = remains.members();
      patron.kill();
    }
    remove(other);
    assertThat(sweep(instance, false)).as("it is left alone").isEmpty();
    assertThat(members).anyMatch(ProcessRef::isAlive);
    assertThat(claim(instance).isPresent() || Self.uid() != 0).isTrue();
    end(members, instance);
    sweep(instance, false);
    assertThat(claim(instance)).isEmpty();
    assertThat(hasCgroups(instance)).isFalse();
  }

  /** An instance with a living process is never released, even if its directory is gone. */
  @Test
  void aLivingInstanceWithoutItsDirectoryIsLeftAlone() throws Exception {
    requireIdentity();
    Left left;
    try (ChildJvm patron = Patron.start(host.home(), 1, FOREVER)) {
      patron.awaitLine("ready");
      var remains = Remains.of(host.home());
      Path instance = instanceOf(remains);
      left =
          new Left(instance, Map.of(), remains.members(), claim(instance).orElse(Path.of("/none")));
      remove(instance);
      assertThat(sweep(instance, false))
          .isNotEmpty()
          .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Left);
      assertThat(left.members()).isNotEmpty().allMatch(ProcessRef::isAlive);
      patron.kill();
    }
    assertThat(sweep(left.instance(), false))
        .isNotEmpty()
        .allMatch(finding -> finding.fate() instanceof Recovery.Fate.Released);
    assertNothingIsLeft(left);
  }

  /**
   * The lock of a living instance was removed by hand: a process that takes a new lock does not
   * inherit the instance.
   */
  @Test
  void aLivingInstanceWithoutItsLockIsLeftAlone() throws Exception {
    try (ChildJvm patron = Patron.start(host.home(), 1, FOREVER)) {
      patron.awaitLine("ready");
      var remains = Remains.of(host.home());
      Path instance = instanceOf(remains);
      List<ProcessRef> members = remains.members();
      Files.delete(instance.resolve("lock"));
      assertThat(sweep(instance, false)).isEmpty();
      assertThat(members).isNotEmpty().allMatch(ProcessRef::isAlive);
      patron.kill();
    }
  }
}
