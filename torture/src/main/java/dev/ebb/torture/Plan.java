package dev.ebb.torture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/** The plan of a run, made from its seed: the same seed has the same rounds and strokes. */
final class Plan {
  private static final int MOST_WORKLOADS = 3;
  private static final int MOST_ACTS = 3;
  private static final int MOST_DWELL_MILLIS = 500;
  private static final int MOST_PAUSE_MILLIS = 900;

  /** Each as often as it is there, of a hundred strokes. */
  private static final List<Stroke.Target> FAULTS =
      List.of(
          Stroke.Target.STOPPED_DAEMON,
          Stroke.Target.STOPPED_DAEMON,
          Stroke.Target.BLOCKED_LOG,
          Stroke.Target.SILENT_CONNECTIONS,
          Stroke.Target.SILENT_CONNECTIONS,
          Stroke.Target.HOSTILE_DESCRIPTORS,
          Stroke.Target.HOSTILE_DESCRIPTORS,
          Stroke.Target.GIANT_VALUES,
          Stroke.Target.GIANT_VALUES,
          Stroke.Target.FLAPPING_DISK);

  /** Larger than any number of a worker's round. */
  private static final long STRIDE = 1L << 32;

  private final long seed;
  private final Profile profile;
  private final List<Workload> workloads;
  private final Optional<String> only;

  /**
   * @param only the one kind of stroke; all of them if empty
   */
  Plan(long seed, Profile profile, List<Workload> workloads, Optional<String> only) {
    this.only = only;
    this.seed = seed;
    this.profile = profile;
    this.workloads = List.copyOf(workloads);
  }

  /** A generator of its own for each, so that none depends on how far another has come. */
  private SplittableRandom random(int worker, int number) {
    return new SplittableRandom(seed ^ new SplittableRandom(worker * STRIDE + number).nextLong());
  }

  Round round(int worker, int number) {
    SplittableRandom random = random(worker, number);
    Ending ending = choose(random, List.of(Ending.values()));
    boolean detached = random.nextInt(3) == 0 && !ending.isOfAttached();
    int pids = random.nextInt(4) == 0 ? profile.pids() : Math.min(64, profile.pids());
    boolean keeps = random.nextInt(4) == 0;
    var chosen = new ArrayList<Workload>();
    // A caller that hangs up has one command.
    int most = ending.isOfRun() ? 1 : MOST_WORKLOADS;
    for (int left = 1 + random.nextInt(most); left > 0; left--) {
      chosen.add(workload(random));
    }
    var acts = new ArrayList<Act>();
    for (int left = random.nextInt(MOST_ACTS + 1); left > 0; left--) {
      acts.add(choose(random, List.of(Act.values())));
    }
    Duration dwell = Duration.ofMillis(random.nextInt(MOST_DWELL_MILLIS));
    return new Round(worker, number, detached, pids, keeps, chosen, acts, dwell, ending);
  }

  /** A full run has storms of memory. */
  private Workload workload(SplittableRandom random) {
    boolean storm = profile == Profile.FULL && random.nextInt(6) == 0;
    Workload chosen = choose(random, workloads);
    return storm && workloads.contains(Workload.MEMORY_HOG) ? Workload.MEMORY_HOG : chosen;
  }

  Stroke stroke(int number) {
    SplittableRandom random = random(-1, number);
    int hundred = random.nextInt(100);
    Stroke.Target target = Stroke.Target.INIT;
    if (hundred < profile.daemonKills()) {
      target = Stroke.Target.DAEMON;
    } else if (hundred < 35) {
      target = Stroke.Target.FORKSERVER;
    } else if (hundred < 60) {
      target = Stroke.Target.WRAPPER;
    } else if (hundred < 60 + FAULTS.size()) {
      target = FAULTS.get(hundred - 60);
    }
    Duration after = Duration.ofMillis(random.nextInt(MOST_PAUSE_MILLIS));
    return new Stroke(after, wanted(target), random.nextInt(Integer.MAX_VALUE));
  }

  private Stroke.Target wanted(Stroke.Target drawn) {
    return Arrays.stream(Stroke.Target.values())
        .filter(each -> only.equals(Optional.of(each.wireName())))
        .findFirst()
        .orElse(drawn);
  }

  private static <T> T choose(SplittableRandom random, List<T> among) {
    return among.get(random.nextInt(among.size()));
  }
}
