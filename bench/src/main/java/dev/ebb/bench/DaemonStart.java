package dev.ebb.bench;

/** {@code ebb serve} until it serves: with its start-up cache and without, in turn. */
public final class DaemonStart {
  private DaemonStart() {}

  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 20;
    var without = new Series("without the cache");
    var with = new Series("with the cache");
    for (int i = 0; i < rounds; i++) {
      without.take(() -> start("-XX:AOTMode=off"), true);
      with.take(() -> start(""), true);
    }
    System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ without | CPU ms |");
    System.out.println("|---|---|---|---|---|");
    System.out.println(without.row(without));
    System.out.println(with.row(without));
  }

  /** How many nanoseconds it took. */
  private static long start(String options) throws Exception {
    long begun = System.nanoTime();
    try (var _ = ServedDaemon.start(options)) {
      return System.nanoTime() - begun;
    }
  }
}
