package dev.ebb.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Measures Ebb as a new user meets it on the first day: a daemon without any setting, a plain HTTP
 * client in Python, answers and their certificates, first calls and warm calls, and the command
 * line; in turn with bwrap, crun, and the bare programs.
 *
 * <p>Arguments, each optional: {@code quick} for less of everything, into bench/target; {@code
 * soak} to add 10,000 runs; and the directory for {@code everyday-report.md} and its plot.
 */
public final class Everyday {
  private static final int SOAK_RUNS = 10_000;

  private final List<String> args;
  private final EverydayMode mode;
  private final Page page = new Page();

  private Everyday(List<String> args) {
    this.args = args;
    mode = args.contains("quick") ? EverydayMode.QUICK : EverydayMode.FULL;
  }

  public static void main(String[] args) throws Exception {
    new Everyday(List.of(args)).run();
  }

  private void run() throws Exception {
    String before = Machine.load();
    try (var daemon = ServedDaemon.startDefault();
        var client = PlainClient.of(daemon)) {
      var warm = new WarmCalls(mode, page, client);
      warm.sparse();
      new FirstCalls(mode, page).run(warm);
      warm.sustained();
      new KillTimes(mode, page, client).run();
      new CommandLines(mode, page, daemon, client).run();
      var many = new ManyClients(mode, page, daemon);
      many.throughput();
      many.living(client);
      var idle = new IdleDaemon(mode, page);
      if (args.contains("soak")) {
        idle.slope(daemon, client, SOAK_RUNS);
      }
      idle.run(daemon);
    }
    page.write(into(), "everyday-report", "Ebb on an ordinary day, measured", method(before));
  }

  private Path into() {
    String otherwise = mode.equals(EverydayMode.QUICK) ? "bench/target" : "docs";
    return args.stream()
        .filter(each -> each.contains("/"))
        .map(Path::of)
        .findFirst()
        .orElse(Path.of(System.getProperty("ebb.root"), otherwise));
  }

  private List<String> method(String before) throws IOException {
    return List.of(
        "`bench/run Everyday%s`, %s; load %s before, %s after, which the run itself is part of."
            .formatted(
                args.isEmpty() ? "" : " " + String.join(" ", args),
                Machine.describe(),
                before,
                Machine.load()),
        "",
        "A daemon without any setting, on a home of its own. The client is `everyday.py`: Python's"
            + " standard library, one connection to the unix socket that is kept, timed from"
            + " before a request is written until its answer is parsed. *Complete* means with the"
            + " certificate of the box, fetched if the answer does not hold it. Each call has its"
            + " turn with its peer: bwrap by hand with the namespaces and mounts of a box, without"
            + " cgroups, limits and a seccomp filter; crun from Debian; or the bare program. The"
            + " peers are timed by the C process that forks them.");
  }
}
