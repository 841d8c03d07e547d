package dev.ebb.box;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class HostUidsTest {
  private static final Path HOME = Path.of("/var/lib/ebb");
  private static final int FIRST_OF_NOBODY = 0x7000_0000;

  private static List<Integer> lendAll(HostUids uids) {
    var all = new ArrayList<Integer>();
    try {
      while (true) {
        all.add(uids.lend());
      }
    } catch (SandboxException e) {
      assertThat(e.code()).isEqualTo(ErrorCode.NO_USERS_LEFT);
      assertThat(e).hasMessage("all " + all.size() + " host uids of this runtime are in use");
      return all;
    }
  }

  @Test
  void everyUidIsLentOnce() {
    assertThat(lendAll(HostUids.of(HOME, 0)))
        .hasSizeGreaterThanOrEqualTo(256)
        .doesNotHaveDuplicates();
  }

  @Test
  void aUidIsLentAgainOnlyAfterItWasGivenBack() {
    var uids = HostUids.of(HOME, 0);
    var all = lendAll(uids);
    int back = all.get(17);
    uids.giveBack(back);
    assertThat(uids.lend()).isEqualTo(back);
    assertThatThrownBy(uids::lend).isInstanceOf(SandboxException.class);
  }

  @Test
  void instancesOfOneHomeShareNoUid() {
    var first = lendAll(HostUids.of(HOME, 0));
    assertThat(lendAll(HostUids.of(HOME, 1))).doesNotContainAnyElementsOf(first);
  }

  @Test
  void everyUidIsOneThatNobodyElseUses() {
    for (String home : List.of("/var/lib/ebb", "/a", "/tmp/ebb-1", "/home/me/.local/state/ebb")) {
      for (int block : new int[] {0, 1, 100, 255}) {
        assertThat(lendAll(HostUids.of(Path.of(home), block)))
            .allMatch(uid -> uid >= FIRST_OF_NOBODY);
      }
    }
  }

  @Test
  void aHomeHasTheSameRangeEveryTime() {
    assertThat(HostUids.of(HOME, 3).lend()).isEqualTo(HostUids.of(HOME, 3).lend());
    assertThat(HostUids.of(HOME, 3).lend())
        .isNotEqualTo(HostUids.of(Path.of("/srv/ebb"), 3).lend());
  }

  @Test
  void tooManyInstancesAreRefused() {
    assertThatThrownBy(() -> HostUids.of(HOME, 256))
        .isInstanceOfSatisfying(
            SandboxException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.NO_USERS_LEFT))
        .hasMessage("too many runtimes share the home /var/lib/ebb");
  }

  @Test
  void manyBorrowersNeverShareAUid() throws Exception {
    var uids = HostUids.of(HOME, 0);
    var lent = new ArrayList<Future<List<Integer>>>();
    try (var executor = Executors.newFixedThreadPool(8)) {
      Callable<List<Integer>> borrower =
          () -> {
            var mine = new ArrayList<Integer>();
            for (int i = 0; i < 20; i++) {
              int brief = uids.lend();
              mine.add(uids.lend());
              uids.giveBack(brief);
            }
            return mine;
          };
      for (int i = 0; i < 8; i++) {
        lent.add(executor.submit(borrower));
      }
    }
    var all = new ArrayList<Integer>();
    for (var future : lent) {
      all.addAll(future.get());
    }
    assertThat(all).hasSize(160).doesNotHaveDuplicates();
  }
}
