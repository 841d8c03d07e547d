package dev.ebb.supervision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.box.Strangers;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Kind;
import dev.ebb.process.ProcessRef;
import dev.ebb.store.Home;
import dev.ebb.supervision.Recovery.Fate;
import dev.ebb.supervision.Recovery.Finding;
import dev.ebb.testkit.LeakChecked;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Temporary homes: the process that made one is alive as long as its scope is open. */
@LeakChecked
@Timeout(60)
class SideHomesTest {
  private static final int TIMES = 50;

  @TempDir Path temporary;

  private Home home;
  private Recovery recovery;
  private SideHomes homes;
  private final List<Process> started = new ArrayList<>();

  @BeforeEach
  void openHome() throws Exception {
    home = Home.open(temporary.resolve("home"));
    var removal = new CgroupRemoval((_, _) -> true);
    recovery = new Recovery(home, (_, _) -> true, removal, new Strangers(), Duration.ofSeconds(10));
    homes = new SideHomes(home, recovery);
  }

  @AfterEach
  void endProcesses() throws InterruptedException {
    for (Process process : started) {
      process.destroyForcibly().waitFor();
    }
  }

  private Path side() {
    return home.path().resolve("side");
  }

  /** The home of a dead process. */
  private Path leave() throws KernelException {
    return leave(homes);
  }

  private static Path leave(SideHomes homes) throws KernelException {
    try (var scope = new Scope()) {
      return homes.create(scope);
    }
  }

  /** An instance of {@code process} in it, and what its ledger lists for a box. */
  private static void fill(Path path, String process, List<Ledger.Entry> entries) throws Exception {
    Path instance = Files.createDirectories(path.resolve("instances/ebb-0"));
    String boot = Filesystem.read(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    Files.writeString(
        instance.resolve("instance"),
        "boot=%s\nuids=-1\nprocess=%s\nkind=daemon\n".formatted(boot, process));
    try (var scope = new Scope()) {
      Ledger.create(scope, instance.resolve("ledger")).hold("b1", entries);
    }
  }

  private Process start(String script) throws IOException {
    Process process = new ProcessBuilder("bash", "-c", script).start();
    started.add(process);
    BufferedReader said = process.inputReader();
    assertThat(said.readLine()).isEqualTo("up");
    return process;
  }

  private static String ref(Process process) {
    return ProcessRef.of((int) process.pid()).orElseThrow().toString();
  }

  private static Fate fateOf(Path path, List<Finding> findings) {
    assertThat(findings).extracting(Finding::subject).contains(path.toString());
    return findings.stream()
        .filter(finding -> finding.subject().equals(path.toString()))
        .findFirst()
        .orElseThrow()
        .fate();
  }

  @Test
  void aHomeInUseStays() throws Exception {
    try (var scope = new Scope()) {
      Path made = homes.create(scope);
      assertThat(homes.recover(true)).isEmpty();
      assertThat(homes.recover(false)).isEmpty();
      assertThat(made).isEmptyDirectory();
      assertThat(fateOf(side(), homes.removeAll())).isInstanceOf(Fate.Stuck.class);
      assertThat(made).isEmptyDirectory();
    }
  }

  @Test
  void aHomeOfADeadProcessIsReportedAndThenRemoved() throws Exception {
    Path dead = leave();
    try (var scope = new Scope()) {
      Path other = homes.create(scope);
      assertThat(fateOf(dead, homes.recover(true))).isInstanceOf(Fate.Planned.class);
      assertThat(dead).exists();

      assertThat(fateOf(dead, homes.recover(false))).isInstanceOf(Fate.Released.class);
      assertThat(dead).doesNotExist();
      assertThat(other).exists();
      assertThat(fateOf(other, homes.remove(other))).isInstanceOf(Fate.Released.class);
    }
    assertThat(side()).doesNotExist();
    assertThat(homes.recover(false)).isEmpty();
  }

  /** Also what is detached: there is no daemon that would find it. */
  @Test
  void theContentsOfAHomeGoWithIt() throws Exception {
    Path dead = leave();
    Process member = start("echo up; exec sleep 1000");
    Path box = Files.createDirectories(dead.resolve("instances/ebb-0/b1"));
    Path record = Files.createFile(box.resolve("record"));
    fill(
        dead,
        "1@1",
        List.of(
            new Ledger.Entry(Kind.PROCESS, ref(member)),
            new Ledger.Entry(Kind.DIRECTORY, box.toString()),
            new Ledger.Entry(Kind.RECORD, record.toString())));

    assertThat(fateOf(box, homes.recover(true))).isInstanceOf(Fate.Planned.class);
    assertThat(member.isAlive()).isTrue();
    assertThat(record).exists();

    assertThat(fateOf(dead, homes.recover(false))).isInstanceOf(Fate.Released.class);
    assertThat(member.waitFor()).isEqualTo(128 + 9);
    assertThat(side()).doesNotExist();
  }

  @Test
  void theDaemonOfAHomeIsAskedToEnd() throws Exception {
    Path dead = leave();
    String file = dead.resolve("daemon").toString();
    Process daemon =
        start("echo $$ > %1$s; exec 9<> %1$s; flock 9; echo up; exec sleep 1000".formatted(file));
    fill(dead, ref(daemon), List.of());

    assertThat(fateOf(dead, homes.recover(false))).isInstanceOf(Fate.Released.class);
    assertThat(daemon.waitFor()).as("it was asked").isEqualTo(128 + 15);
    assertThat(side()).doesNotExist();
  }

  @Test
  void foreignFilesAreNotRemoved() throws Exception {
    Path dead = leave();
    Path precious = Files.writeString(dead.resolve("precious"), "words");
    Path foreign = Files.createDirectory(temporary.resolve("foreign"));
    Path kept = Files.createFile(foreign.resolve("kept"));
    Path link = Files.createSymbolicLink(side().resolve("cafecafe"), foreign);

    assertThat(fateOf(dead, homes.recover(false)).describe()).contains("not Ebb's: " + precious);
    assertThat(new Purge(home, recovery).run().isStuck()).isTrue();
    assertThat(precious).hasContent("words");
    assertThat(List.of(link, kept)).allMatch(Files::exists);

    Files.delete(precious);
    Files.delete(link);
    assertThat(new Purge(home, recovery).run().isStuck()).isFalse();
    assertThat(home.path()).doesNotExist();
    assertThat(kept).exists();
  }

  @Test
  void aHomeIsNotPurgedWhileASideHomeIsInUse() throws Exception {
    Path dead = leave();
    try (var scope = new Scope()) {
      Path made = homes.create(scope);
      Purge.Outcome outcome = new Purge(home, recovery).run();
      assertThat(outcome.isStuck()).isTrue();
      assertThat(outcome.removed()).isEmpty();
      assertThat(dead).doesNotExist();
      assertThat(made).isEmptyDirectory();
    }
    assertThat(new Purge(home, recovery).run().isStuck()).isFalse();
    assertThat(home.path()).doesNotExist();
  }

  /** The lock of a directory that was replaced meanwhile would protect nothing. */
  @Test
  void aHomeIsMadeUnderTheLockOfItsDirectory() throws Exception {
    try (var threads = Executors.newSingleThreadExecutor();
        var scope = new Scope()) {
      Future<Path> made;
      try (var second = new Scope()) {
        try (var first = new Scope()) {
          makeLocked(first);
          made = threads.submit(() -> homes.create(scope));
          awaitWaiter();
          Filesystem.rmdir(side());
          makeLocked(second);
        }
        awaitWaiter();
        assertThat(side()).isEmptyDirectory();
      }
      assertThat(made.get()).isEmptyDirectory();
    }
  }

  private void makeLocked(Scope scope) throws KernelException {
    Filesystem.mkdir(side(), 0700);
    Filesystem.lock(Fd.open(scope, side(), Fd.Flag.READ, Fd.Flag.DIRECTORY));
  }

  /** KERNEL: proc_locks(5), a blocked lock has an arrow. */
  private void awaitWaiter() throws IOException {
    String inode = ":" + Files.getAttribute(side(), "unix:ino") + " ";
    await()
        .until(
            () ->
                Filesystem.read(Path.of("/proc/locks"))
                    .lines()
                    .anyMatch(line -> line.contains("-> FLOCK") && line.contains(inode)));
  }

  /** Each sees the others come and go, and takes none of them for dead. */
  @Test
  void manyAtOnceAreNotInEachOthersWay() throws Exception {
    try (var threads = Executors.newFixedThreadPool(4)) {
      var all = new ArrayList<Future<?>>();
      Callable<?> lend = () -> lend(homes);
      List.of(lend, lend, () -> recover(homes, true), () -> recover(homes, false))
          .forEach(work -> all.add(threads.submit(work)));
      for (Future<?> each : all) {
        each.get();
      }
    }
    homes.recover(false);
    assertThat(side()).doesNotExist();
  }

  private static boolean lend(SideHomes homes) throws Exception {
    for (int i = 0; i < TIMES; i++) {
      try (var scope = new Scope()) {
        Path made = homes.create(scope);
        assertThat(made).isEmptyDirectory();
        assertThat(fateOf(made, homes.remove(made))).isInstanceOf(Fate.Released.class);
      }
      leave(homes);
    }
    return true;
  }

  private static boolean recover(SideHomes homes, boolean dryRun) throws Exception {
    for (int i = 0; i < TIMES; i++) {
      assertThat(homes.recover(dryRun)).noneMatch(finding -> finding.fate() instanceof Fate.Stuck);
    }
    return true;
  }
}
