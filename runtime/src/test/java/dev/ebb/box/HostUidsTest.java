package dev.ebb.box;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Self;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.process.Privileges;
import dev.ebb.process.Privileges.Range;
import dev.ebb.store.UidRange;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class HostUidsTest {
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
    assertThat(lendAll(HostUids.of(FIRST_OF_NOBODY)))
        .hasSizeGreaterThanOrEqualTo(256)
        .doesNotHaveDuplicates();
  }

  @Test
  void aUidIsLentAgainOnlyAfterItWasGivenBack() {
    var uids = HostUids.of(FIRST_OF_NOBODY);
    var all = lendAll(uids);
    int back = all.get(17);
    uids.giveBack(back);
    assertThat(uids.lend()).isEqualTo(back);
    assertThatThrownBy(uids::lend).isInstanceOf(SandboxException.class);
  }

  @Test
  void theLastBlockIsAsGoodAsAny() {
    var uids = HostUids.of(0x7fff_fc00);
    var all = lendAll(uids);
    assertThat(all).hasSize(1024).allMatch(uid -> uid > 0);
    uids.giveBack(all.getLast());
    assertThat(uids.lend()).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void rootHasEveryUidThatNoUserHas() {
    UidRange range = HostUids.range(privileges(0, 1L << 32));
    assertThat(range.first()).isEqualTo(FIRST_OF_NOBODY);
    assertThat(range.first() + (long) range.blocks() * UidRange.BLOCK).isEqualTo(1L << 31);
  }

  @Test
  void aUserNamespaceOf65536LeavesItsUsersAlone() {
    UidRange range = HostUids.range(privileges(0, 1 << 16));
    assertThat(range.first()).isGreaterThan(1 << 15);
    assertThat(range.first() + range.blocks() * UidRange.BLOCK).isLessThan(0xfffe);
    assertThat(range.blocks()).isEqualTo(8);
  }

  @Test
  void aUserNamespaceOfOneUidHasNoneToSpare() {
    assertThat(HostUids.range(privileges(0, 1)).blocks()).isZero();
  }

  @Test
  void anEngineThatCannotChangeItsUidSharesItWithItsBoxes() {
    assertThat(HostUids.range(new Privileges(1000, 0, List.of(new Range(0, 1L << 32)))))
        .isEqualTo(UidRange.NONE);
    HostUids shared = HostUids.of(UidRange.NONE.first());
    assertThat(shared.isShared()).isTrue();
    assertThat(shared.lend()).isEqualTo(Self.uid());
  }

  private static Privileges privileges(long first, long count) {
    long capabilities = 1L << Privileges.CAP_SETUID | 1L << Privileges.CAP_SETGID;
    return new Privileges(0, capabilities, List.of(new Range(first, count)));
  }

  @Test
  void manyBorrowersNeverShareAUid() throws Exception {
    var uids = HostUids.of(FIRST_OF_NOBODY);
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
