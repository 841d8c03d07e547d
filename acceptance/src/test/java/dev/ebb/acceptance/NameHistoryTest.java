package dev.ebb.acceptance;

import static dev.ebb.acceptance.NameHistory.Phase.GONE;
import static dev.ebb.acceptance.NameHistory.Phase.RUNNING;
import static dev.ebb.acceptance.NameHistory.absent;
import static dev.ebb.acceptance.NameHistory.beginEnd;
import static dev.ebb.acceptance.NameHistory.end;
import static dev.ebb.acceptance.NameHistory.find;
import static dev.ebb.acceptance.NameHistory.is;
import static dev.ebb.acceptance.NameHistory.made;
import static dev.ebb.acceptance.NameHistory.present;
import static dev.ebb.acceptance.NameHistory.reserve;
import static dev.ebb.acceptance.NameHistory.someBoxIsNot;
import static dev.ebb.acceptance.NameHistory.unlist;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.acceptance.NameHistory.Operation;
import dev.ebb.acceptance.NameHistory.Step;
import dev.ebb.acceptance.NameHistory.Verdict;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The checker itself: what it lets pass, and what it does not. */
final class NameHistoryTest {
  private static Operation at(long call, long end, Step... steps) {
    return new Operation(call, end, call + " to " + end, List.of(steps));
  }

  private static Operation create(long call, long end, String id) {
    return at(call, end, reserve(id), made(id));
  }

  private static Operation remove(long call, long end, String id) {
    return at(call, end, find(id), beginEnd(id), end(id), unlist(id));
  }

  private static Verdict judge(Operation... operations) {
    return NameHistory.judge(List.of(operations), 100_000).verdict();
  }

  @Test
  void oneAfterTheOther() {
    assertThat(judge(create(0, 1, "a"), remove(2, 3, "a"), create(4, 5, "b"), at(6, 7, find("b"))))
        .isEqualTo(Verdict.LINEARIZABLE);
  }

  @Test
  void oneNameIsNotGivenTwice() {
    assertThat(judge(create(0, 10, "a"), create(1, 9, "b"))).isEqualTo(Verdict.NOT_LINEARIZABLE);
    assertThat(judge(create(0, 10, "a"), create(1, 9, "b"), remove(2, 8, "a")))
        .isEqualTo(Verdict.LINEARIZABLE);
  }

  @Test
  void whatIsThereIsFound() {
    assertThat(judge(create(0, 1, "a"), at(2, 3, absent()))).isEqualTo(Verdict.NOT_LINEARIZABLE);
    assertThat(judge(create(0, 3, "a"), at(1, 2, absent()))).isEqualTo(Verdict.LINEARIZABLE);
  }

  @Test
  void nothingIsSeenBeforeOrAfterItsTime() {
    assertThat(judge(at(0, 1, find("a")), create(2, 3, "a"))).isEqualTo(Verdict.NOT_LINEARIZABLE);
    assertThat(judge(create(0, 1, "a"), remove(2, 3, "a"), at(4, 5, present())))
        .isEqualTo(Verdict.NOT_LINEARIZABLE);
  }

  @Test
  void noBoxRunsAgain() {
    var stopped = at(2, 3, find("a"), beginEnd("a"), end("a"));
    assertThat(judge(create(0, 1, "a"), stopped, at(4, 5, find("a"), is("a", GONE))))
        .isEqualTo(Verdict.LINEARIZABLE);
    assertThat(judge(create(0, 1, "a"), stopped, at(4, 5, find("a"), is("a", RUNNING))))
        .isEqualTo(Verdict.NOT_LINEARIZABLE);
  }

  @Test
  void twoSeeTheSameOrder() {
    // Seen as gone, then as running again, while a caller stops it.
    var stopping = at(2, 9, find("a"), beginEnd("a"), end("a"));
    assertThat(
            judge(
                create(0, 1, "a"),
                stopping,
                at(3, 4, find("a"), is("a", GONE)),
                at(5, 6, find("a"), is("a", RUNNING))))
        .isEqualTo(Verdict.NOT_LINEARIZABLE);
  }

  /** Each refused one found either box, at any moment. */
  @Test
  void manyRefusalsAtOnceAreDecided() {
    var operations = new ArrayList<Operation>();
    operations.add(create(0, 100, "a"));
    operations.add(remove(1, 100, "a"));
    operations.add(create(2, 100, "b"));
    for (int i = 0; i < 30; i++) {
      operations.add(at(3, 100, someBoxIsNot(RUNNING)));
    }
    assertThat(NameHistory.judge(operations, 10_000).verdict()).isEqualTo(Verdict.LINEARIZABLE);
    operations.add(at(101, 102, someBoxIsNot(RUNNING)));
    assertThat(NameHistory.judge(operations, 10_000).verdict()).isEqualTo(Verdict.NOT_LINEARIZABLE);
  }

  @Test
  void whatIsRefusedWasFoundFirst() {
    assertThat(judge(create(0, 1, "a"), remove(2, 9, "a"), at(3, 4, someBoxIsNot(RUNNING))))
        .isEqualTo(Verdict.LINEARIZABLE);
    assertThat(judge(create(0, 1, "a"), remove(2, 3, "a"), at(4, 5, someBoxIsNot(RUNNING))))
        .isEqualTo(Verdict.NOT_LINEARIZABLE);
  }

  @Test
  void aLongHistoryWithoutAPauseIsDecided() {
    var operations = new ArrayList<Operation>();
    operations.add(create(0, 5, "a"));
    for (int i = 1; i < 3000; i++) {
      operations.add(at(i * 10L, i * 10L + 15, find("a"), is("a", RUNNING)));
    }
    assertThat(NameHistory.judge(operations, 100_000).verdict()).isEqualTo(Verdict.LINEARIZABLE);
  }
}
