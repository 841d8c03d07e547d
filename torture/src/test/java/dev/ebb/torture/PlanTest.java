package dev.ebb.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PlanTest {
  private static final int MANY = 500;

  private static Plan plan(long seed) {
    return new Plan(seed, Profile.QUICK, List.of(Workload.values()), Optional.empty());
  }

  private static List<Round> rounds(long seed, int worker) {
    var rounds = new ArrayList<Round>();
    for (int i = 0; i < MANY; i++) {
      rounds.add(plan(seed).round(worker, i));
    }
    return rounds;
  }

  @Test
  void theSameSeedHasTheSameRoundsAndStrokes() {
    assertThat(rounds(7, 1)).isEqualTo(rounds(7, 1));
    for (int i = 0; i < MANY; i++) {
      assertThat(plan(7).stroke(i)).isEqualTo(plan(7).stroke(i));
    }
  }

  @Test
  void anotherSeedOrWorkerHasOthers() {
    assertThat(rounds(7, 1)).isNotEqualTo(rounds(8, 1));
    var elsewhere = rounds(7, 2).stream().map(Round::workloads).toList();
    assertThat(rounds(7, 1).stream().map(Round::workloads).toList()).isNotEqualTo(elsewhere);
  }

  @Test
  void everythingHappens() {
    var endings = EnumSet.noneOf(Ending.class);
    var workloads = EnumSet.noneOf(Workload.class);
    var acts = EnumSet.noneOf(Act.class);
    var targets = EnumSet.noneOf(Stroke.Target.class);
    for (Round round : rounds(1, 0)) {
      endings.add(round.ending());
      workloads.addAll(round.workloads());
      acts.addAll(round.acts());
      targets.add(plan(1).stroke(round.number()).target());
    }
    assertThat(endings).containsExactly(Ending.values());
    assertThat(workloads).containsExactly(Workload.values());
    assertThat(acts).containsExactly(Act.values());
    assertThat(targets).containsExactly(Stroke.Target.values());
  }

  @Test
  void onlyOneKindHappensIfThatIsWanted() {
    var plan =
        new Plan(7, Profile.QUICK, List.of(Workload.values()), Optional.of("stopped-daemon"));
    for (int i = 0; i < MANY; i++) {
      assertThat(plan.stroke(i).target()).isEqualTo(Stroke.Target.STOPPED_DAEMON);
      assertThat(plan.stroke(i).choice()).isEqualTo(plan(7).stroke(i).choice());
    }
  }

  @Test
  void whatOnlyALivingDaemonEndsIsNotDetached() {
    assertThat(rounds(3, 0))
        .filteredOn(round -> round.ending().isOfAttached())
        .isNotEmpty()
        .noneMatch(Round::detached);
  }
}
