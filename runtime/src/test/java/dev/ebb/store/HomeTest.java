package dev.ebb.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HomeTest {
  private static final int ROOT = 0;
  private static final int SOMEBODY = 1000;
  private static final int THREADS = 8;
  private static final String LIVING = "2@1";
  private static final String DEAD = "3@1";

  /** Dead, but its lock is in our hands, as if we were a child of it. */
  private static final String PARENT = ProcessHandle.current().pid() + "@1";

  private final Scope scope = new Scope();
  private Home home;
  @TempDir Path directory;

  @BeforeEach
  void open() throws Exception {
    home = Home.open(directory.resolve("deep/home"));
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  /** An instance of a killed runtime. */
  private Instance dead(String... subjects) throws Exception {
    try (var brief = new Scope()) {
      Instance instance = home.create(brief, DEAD, UidRange.NONE);
      for (String subject : subjects) {
        instance.ledger().hold("box", Kind.CGROUP, subject);
      }
      return instance;
    }
  }

  private static boolean isAlive(String process) {
    return process.equals(LIVING);
  }

  private List<DeadInstance> claimDead() throws Exception {
    return home.claimDead(scope, HomeTest::isAlive);
  }

  // --- where it is ---

  @ParameterizedTest
  @CsvSource({"/srv/ebb,/srv/ebb", "/srv/../srv/./ebb/,/srv/ebb"})
  void theEnvironmentSetsTheHome(String given, String expected) {
    var environment = Map.of("EBB_HOME", given, "XDG_STATE_HOME", "/state", "HOME", "/home/me");
    assertThat(Home.locate(environment, ROOT)).isEqualTo(Path.of(expected));
    assertThat(Home.locate(environment, SOMEBODY)).isEqualTo(Path.of(expected));
  }

  @Test
  void aRelativeHomeIsBelowTheCurrentDirectory() {
    assertThat(Home.locate(Map.of("EBB_HOME", "here"), ROOT))
        .isEqualTo(Path.of("here").toAbsolutePath());
  }

  @Test
  void anEmptyVariableIsNone() {
    var environment = Map.of("EBB_HOME", "", "XDG_STATE_HOME", "", "HOME", "/home/me");
    assertThat(Home.locate(environment, ROOT)).isEqualTo(Path.of("/var/lib/ebb"));
    assertThat(Home.locate(environment, SOMEBODY)).isEqualTo(Path.of("/home/me/.local/state/ebb"));
  }

  @Test
  void rootHasOneHomeWhateverItsOwnDirectories() {
    assertThat(Home.locate(Map.of("XDG_STATE_HOME", "/state", "HOME", "/root"), ROOT))
        .isEqualTo(Path.of("/var/lib/ebb"));
  }

  @Test
  void aUsersHomeIsInTheStateDirectory() {
    assertThat(Home.locate(Map.of("XDG_STATE_HOME", "/state", "HOME", "/home/me"), SOMEBODY))
        .isEqualTo(Path.of("/state/ebb"));
  }

  /** By the XDG specification a relative path is invalid and ignored. */
  @Test
  void aRelativeStateDirectoryIsIgnored() {
    assertThat(Home.locate(Map.of("XDG_STATE_HOME", "state", "HOME", "/home/me"), SOMEBODY))
        .isEqualTo(Path.of("/home/me/.local/state/ebb"));
  }

  @Test
  void aHomeThatOthersCanChangeIsRefused() throws Exception {
    Path open = Files.createDirectory(directory.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThatThrownBy(() -> Home.open(open)).hasMessageContaining("others can change it");
  }

  @Test
  void theHomeIsItsOwnersOnlyAndOpeningItAgainChangesNothing() throws Exception {
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(home.path())))
        .isEqualTo("rwx------");
    Instance instance = dead("kept");
    Home.open(home.path());
    assertThat(instance.directory()).isDirectory();
    assertThat(home.lib()).isDirectory();
  }

  // --- instances ---

  @Test
  void aLivingInstanceIsNotClaimed() throws Exception {
    Instance instance = home.create(scope, LIVING, UidRange.NONE);
    assertThat(instance.directory().getParent()).isEqualTo(home.path().resolve("instances"));
    assertThat(claimDead()).isEmpty();
  }

  @Test
  void aDeadInstanceIsClaimedWithWhatItHeld() throws Exception {
    Instance instance = dead("one", "two");
    assertThat(claimDead())
        .singleElement()
        .satisfies(
            dead -> {
              assertThat(dead.id()).isEqualTo(instance.id());
              assertThat(dead.directory()).isEqualTo(instance.directory());
              assertThat(dead.sameBoot()).isTrue();
              assertThat(dead.holdings())
                  .extracting(Holding::subject)
                  .containsExactly("one", "two");
            });
  }

  @Test
  void aClaimedInstanceCannotBeClaimedAgainUntilItIsReleased() throws Exception {
    dead();
    var claimer = new Scope();
    assertThat(home.claimDead(claimer, HomeTest::isAlive)).hasSize(1);
    var asked = new AtomicInteger();
    var claimed =
        home.claimDead(
            scope,
            process -> {
              asked.incrementAndGet();
              return isAlive(process);
            });
    assertThat(claimed).isEmpty();
    assertThat(asked).as("no thread waits for a claimer").hasValueBetween(1, 9);
    claimer.close();
    assertThat(claimDead()).hasSize(1);
  }

  @Test
  void aLockThatOutlivesItsProcessIsWaitedFor() throws Exception {
    var inherited = new Scope();
    Instance instance = home.create(inherited, PARENT, UidRange.NONE);
    var asked = new CountDownLatch(3);
    Thread child =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    asked.await();
                    inherited.close();
                  } catch (KernelException | InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                });
    var claimed =
        home.claimDead(
            scope,
            process -> {
              asked.countDown();
              return isAlive(process);
            });
    child.join();
    assertThat(claimed).extracting(DeadInstance::id).containsExactly(instance.id());
  }

  @Test
  void aLockHeldByAnotherProcessIsGivenUp() throws Exception {
    try (var inherited = new Scope()) {
      home.create(inherited, PARENT, UidRange.NONE);
      assertThat(claimDead()).isEmpty();
    }
    assertThat(claimDead()).hasSize(1);
  }

  @Test
  void aRemovedInstanceIsGone() throws Exception {
    Instance instance = dead();
    home.remove(instance.directory());
    assertThat(instance.directory()).doesNotExist();
    assertThat(claimDead()).isEmpty();
  }

  @Test
  void instancesMadeAtOnceHaveNamesOfTheirOwn() throws Exception {
    var made = together(() -> home.create(scope, LIVING, UidRange.NONE));
    assertThat(made).extracting(Instance::id).doesNotHaveDuplicates();
    assertThat(claimDead()).isEmpty();
  }

  @Test
  void eachDeadInstanceIsClaimedOnceByManyAtOnce() throws Exception {
    for (int round = 0; round < 10; round++) {
      var ids = new ArrayList<String>();
      for (int i = 0; i < 5; i++) {
        ids.add(dead("held").id());
      }
      var claimed = new ArrayList<DeadInstance>();
      try (var claimers = new Scope()) {
        together(() -> home.claimDead(claimers, HomeTest::isAlive)).forEach(claimed::addAll);
        assertThat(claimed).extracting(DeadInstance::id).containsExactlyInAnyOrderElementsOf(ids);
        for (DeadInstance dead : claimed) {
          home.remove(dead.directory());
        }
      }
    }
  }

  @Test
  void anInstanceJustBeingMadeIsNeverTakenForDead() throws Exception {
    var living = new ArrayList<String>();
    var claimed = new ArrayList<String>();
    together(
        () -> {
          for (int i = 0; i < 10; i++) {
            Instance instance = home.create(scope, LIVING, UidRange.NONE);
            synchronized (living) {
              living.add(instance.id());
            }
            for (DeadInstance dead : home.claimDead(scope, HomeTest::isAlive)) {
              synchronized (claimed) {
                claimed.add(dead.id());
              }
            }
          }
          return living;
        });
    assertThat(living).hasSize(10 * THREADS);
    assertThat(claimed).isEmpty();
  }

  private static <T> List<T> together(Callable<T> task) throws Exception {
    var start = new CyclicBarrier(THREADS);
    var running = new ArrayList<Future<T>>();
    try (var executor = Executors.newFixedThreadPool(THREADS)) {
      for (int i = 0; i < THREADS; i++) {
        running.add(
            executor.submit(
                () -> {
                  start.await();
                  return task.call();
                }));
      }
    }
    var results = new ArrayList<T>();
    for (Future<T> each : running) {
      results.add(each.get());
    }
    return results;
  }

  // --- what a crash or a power loss leaves ---

  @ParameterizedTest
  @ValueSource(strings = {"", "ledger", "ledger,instance", "ledger,instance,lock"})
  void aHalfRemovedInstanceIsFoundAgainAndFinished(String removed) throws Exception {
    Instance instance = dead("was struck");
    for (String file : removed.split(",")) {
      if (!file.isEmpty()) {
        Files.delete(instance.directory().resolve(file));
      }
    }
    assertThat(claimDead()).extracting(DeadInstance::id).containsExactly(instance.id());
    home.remove(instance.directory());
    assertThat(instance.directory()).doesNotExist();
  }

  @Test
  void aDirectoryThatIsAllThereIsOfAnInstanceIsADeadOne() throws Exception {
    Path bare = Files.createDirectory(home.path().resolve("instances/ebb-00000000"));
    assertThat(claimDead())
        .singleElement()
        .satisfies(dead -> assertThat(dead.holdings()).isEmpty());
    home.remove(bare);
    assertThat(bare).doesNotExist();
  }

  @Test
  void anInstanceOfAnEarlierBootIsRecognized() throws Exception {
    Instance instance = dead("gone with the boot");
    rewrite(instance, Files.readString(file(instance)).replaceFirst("boot=.", "boot=!"));
    assertThat(claimDead()).singleElement().matches(dead -> !dead.sameBoot());
  }

  /**
   * Its pids and start times may be those of innocent processes by now. A crash alone cannot lose
   * the boot: it is written before the ledger and removed after it.
   */
  @ParameterizedTest
  @ValueSource(strings = {"", "uids=0\n", "\0\0\0\0", "boot=\n"})
  void anInstanceWithAnUnknownBootIsOfAnEarlierOne(String content) throws Exception {
    Instance instance = dead("17@4711");
    rewrite(instance, content);
    assertThat(claimDead()).singleElement().matches(dead -> !dead.sameBoot());
  }

  @ParameterizedTest
  @ValueSource(strings = {"uids=", "uids=x", "uids=-1", "uids=99999999999", "\u00ff\u00fe"})
  void aGarbledInstanceDoesNotStopTheNext(String content) throws Exception {
    Instance instance = dead();
    Files.write(file(instance), content.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
    UidRange two = new UidRange(1024, 2);
    Home other = Home.open(home.path(), new UidClaims(directory));
    assertThat(other.create(scope, LIVING, two).uid()).isNotNegative();
    assertThat(claimDead()).hasSize(1);
  }

  @Test
  void aFileAmongTheInstancesIsNone() throws Exception {
    Files.createFile(home.path().resolve("instances/stray"));
    assertThat(claimDead()).isEmpty();
    home.create(scope, LIVING, UidRange.NONE);
  }

  @Test
  void aDirectoryWithMoreInItThanOursIsKept() throws Exception {
    Instance instance = dead();
    Files.createFile(instance.directory().resolve("somebodys"));
    assertThatThrownBy(() -> home.remove(instance.directory())).hasMessageEndingWith("ENOTEMPTY");
    assertThat(instance.directory().resolve("somebodys")).exists();
  }

  private static Path file(Instance instance) {
    return instance.directory().resolve("instance");
  }

  private static void rewrite(Instance instance, String content) throws IOException {
    Files.writeString(file(instance), content);
  }
}
