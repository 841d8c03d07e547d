package dev.ebb.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UidClaimsTest {
  private static final int FIRST = 0x7000_0000;
  private static final int SECOND = FIRST + UidRange.BLOCK;
  private static final UidRange ONE = new UidRange(FIRST, 1);
  private static final UidRange TWO = new UidRange(FIRST, 2);
  private static final String PROCESS = "2@1";

  private final Scope scope = new Scope();
  private UidClaims claims;
  private Home mine;
  private Home yours;
  @TempDir Path directory;

  @BeforeEach
  void open() throws Exception {
    claims = new UidClaims(Files.createDirectory(directory.resolve("run")));
    mine = Home.open(directory.resolve("mine"), claims);
    yours = Home.open(directory.resolve("yours"), claims);
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  private Path list() {
    return directory.resolve("run/ebb-uids");
  }

  private Instance create(Home home, UidRange uids) throws Exception {
    return home.create(scope, PROCESS, uids);
  }

  /** A claim of a killed process. */
  private static Instance dead(Home home, UidRange uids) throws Exception {
    try (var brief = new Scope()) {
      return home.createForDaemon(brief, PROCESS, uids);
    }
  }

  private static void assertRefused(Callable<?> claim) {
    assertThatThrownBy(claim::call)
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.is(Errno.EUSERS)).isTrue());
  }

  @Test
  void twoHomesThatWantTheSameUidsGetDifferentOnes() throws Exception {
    assertThat(List.of(create(mine, TWO).uid(), create(yours, TWO).uid()))
        .containsExactlyInAnyOrder(FIRST, SECOND);
    assertRefused(() -> create(mine, TWO));
    assertThat(mine.view()).as("one that was refused leaves no instance").hasSize(1);
  }

  @Test
  void manyHomesThatClaimAtOnceShareNoUid() throws Exception {
    int homes = 16;
    var range = new UidRange(FIRST, homes);
    var claimed = new ArrayList<Future<Integer>>();
    try (var executor = Executors.newFixedThreadPool(homes)) {
      for (int i = 0; i < homes; i++) {
        Home home = Home.open(directory.resolve("home" + i), claims);
        claimed.add(
            executor.submit(
                () -> {
                  for (int round = 0; round < 20; round++) {
                    home.remove(create(home, range).directory());
                  }
                  return create(home, range).uid();
                }));
      }
    }
    var uids = new ArrayList<Integer>();
    for (var each : claimed) {
      uids.add(each.get());
    }
    assertThat(uids).hasSize(homes).doesNotHaveDuplicates();
  }

  @Test
  void aClaimOutlivesItsProcessAndGoesWithItsInstance() throws Exception {
    Instance left = dead(mine, ONE);
    assertRefused(() -> create(yours, ONE));
    mine.remove(left.directory());
    assertThat(list()).doesNotExist();
    assertThat(create(yours, ONE).uid()).isEqualTo(FIRST);
  }

  @Test
  void aClaimOfAnInstanceWithoutADescriptionGoesWithIt() throws Exception {
    Instance left = dead(mine, ONE);
    Files.delete(left.directory().resolve("instance"));
    mine.remove(left.directory());
    assertThat(list()).doesNotExist();
  }

  @Test
  void theNextDaemonHasTheUidsOfTheLast() throws Exception {
    int uid = dead(mine, TWO).uid();
    assertThat(dead(mine, TWO).uid()).isEqualTo(uid);
    assertThat(claims.all()).hasSize(1);
  }

  @Test
  void theNextDaemonClaimsItsUidsAgainAfterAWipe() throws Exception {
    Instance left = dead(mine, TWO);
    Files.delete(list().resolve(Integer.toString(left.uid())));
    assertThat(dead(mine, TWO).uid()).isEqualTo(left.uid());
    assertThat(create(yours, TWO).uid()).isNotEqualTo(left.uid());
  }

  @Test
  void theNextDaemonHasOtherUidsIfAnotherClaimedThem() throws Exception {
    Instance left = dead(mine, ONE);
    Files.delete(list().resolve(Integer.toString(left.uid())));
    create(yours, ONE);
    assertThat(dead(mine, TWO).uid()).isEqualTo(SECOND);
  }

  /** Left by a daemon from before there were claims, its boxes have uids of a range of its home. */
  @Test
  void anInstanceWithoutAClaimIsResumedWithOne() throws Exception {
    Instance left = dead(mine, UidRange.NONE);
    assertThat(list()).doesNotExist();
    Instance resumed = dead(mine, ONE);
    assertThat(resumed.id()).isEqualTo(left.id());
    assertThat(resumed.uid()).isEqualTo(FIRST);
    assertRefused(() -> create(yours, ONE));
  }

  @Test
  void aClaimIsAbandonedWhenItsInstanceIsGone() throws Exception {
    Instance gone = dead(mine, ONE);
    assertThat(claims.abandoned()).isEmpty();
    Files.move(mine.path(), directory.resolve("moved"));
    var abandoned = claims.abandoned();
    assertThat(abandoned).containsExactly(new UidClaims.Claim(FIRST, gone.directory()));
    claims.remove(abandoned.getFirst());
    assertThat(list()).doesNotExist();

    Instance next = create(yours, ONE);
    claims.remove(abandoned.getFirst());
    assertThat(claims.all())
        .as("it is somebody's by now")
        .containsExactly(new UidClaims.Claim(FIRST, next.directory()));
  }

  @Test
  void aListThatOthersCanChangeIsRefused() throws Exception {
    Files.createDirectory(list());
    Files.setPosixFilePermissions(list(), PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThatThrownBy(() -> create(mine, ONE)).hasMessageContaining("others can change");
  }

  @Test
  void whereNothingCanBeClaimedTheInstancesOfAHomeShareNoUid() throws Exception {
    Home alone = Home.open(mine.path(), new UidClaims(directory.resolve("absent")));
    assertThat(List.of(create(alone, TWO).uid(), create(alone, TWO).uid()))
        .containsExactlyInAnyOrder(FIRST, SECOND);
    assertRefused(() -> create(alone, TWO));
  }
}
