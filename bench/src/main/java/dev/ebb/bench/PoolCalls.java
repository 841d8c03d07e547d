package dev.ebb.bench;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import dev.ebb.client.json.JsonObject;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One {@code true}, and one line of python, asked of a daemon that makes boxes ahead, in turn with
 * raw bwrap; then the same without a pause.
 *
 * <p>Arguments: how many rounds, how many to warm up with, milliseconds between two of them, and,
 * for a zygote, modules for it to import ({@code numpy}), or {@code -} for none.
 */
public final class PoolCalls {
  private static final List<String> TRUE = List.of("/usr/bin/true");

  private PoolCalls() {}

  public static void main(String[] args) throws Exception {
    int rounds = argument(args, 0, 300);
    int warmUp = argument(args, 1, 2000);
    long pause = argument(args, 2, 20);
    String modules = args.length > 3 && !args[3].equals("-") ? args[3] : "";
    String imports = modules.isEmpty() ? "" : "import " + modules + "; ";
    List<String> sum = List.of("python3", "-c", imports + "print(1+1)");
    var settings =
        new HashMap<>(
            Map.of("EBB_POOL_MIN", "2", "EBB_POOL_MAX", "8", "EBB_POOL_INTERPRETERS", "python3:4"));
    if (args.length > 3) {
      settings.put("EBB_POOL_ZYGOTE", "true");
      settings.put("EBB_POOL_PRELOAD", modules);
    }
    try (var bwrapTrue = Peer.spawning(bwrap("/usr/bin/true"));
        var bwrapSum = Peer.spawning(bwrap("/usr/bin/python3", "-c", imports + "pass"));
        var daemon = ServedDaemon.start(settings);
        EbbClient client = daemon.connect()) {
      for (int i = 0; i < warmUp; i++) {
        run(client, i % 4 == 0 ? sum : TRUE);
      }
      var rawTrue = new Series("raw bwrap, true", bwrapTrue.pid());
      var rawSum = new Series("raw bwrap, python3 -c " + imports + "pass", bwrapSum.pid());
      long us = ProcessHandle.current().pid();
      var poolTrue = new Series("true from the pool", us, daemon.pid());
      var poolSum = new Series("python3 -c print(1+1) from the pool", us, daemon.pid());
      var proof = new Series("true from the pool, with its certificate", us, daemon.pid());
      tell(client, "before");
      for (int i = 0; i < rounds; i++) {
        rawTrue.take(bwrapTrue::nanos, true);
        Thread.sleep(pause);
        poolTrue.measure(() -> run(client, TRUE), true);
        Thread.sleep(pause);
        proof.measure(() -> check(client.run(BoxRequest.defaults(), request(TRUE))), true);
        rawSum.take(bwrapSum::nanos, true);
        Thread.sleep(pause);
        poolSum.measure(() -> run(client, sum), true);
        Thread.sleep(pause);
      }
      tell(client, "after rounds with a pause");
      var fastTrue = new Series("true, one after the other", us, daemon.pid());
      var fastSum = new Series("python3, one after the other", us, daemon.pid());
      for (int i = 0; i < rounds; i++) {
        fastTrue.measure(() -> run(client, TRUE), true);
      }
      tell(client, "after true without a pause");
      for (int i = 0; i < rounds; i++) {
        fastSum.measure(() -> run(client, sum), true);
      }
      tell(client, "after python3 without a pause");
      System.out.println("| " + rounds + " rounds | p50 ms | p99 ms | p50 ÷ bwrap | CPU ms |");
      System.out.println("|---|---|---|---|---|");
      for (Series each : List.of(rawTrue, poolTrue, proof, fastTrue)) {
        System.out.println(each.row(rawTrue));
      }
      for (Series each : List.of(rawSum, poolSum, fastSum)) {
        System.out.println(each.row(rawSum));
      }
    }
  }

  private static int argument(String[] args, int index, int otherwise) {
    return args.length > index ? Integer.parseInt(args[index]) : otherwise;
  }

  private static List<String> bwrap(String... command) {
    var words = RawBwrap.commandLine(command);
    words.set(0, "/usr/bin/bwrap");
    return words;
  }

  private static ExecRequest request(List<String> command) {
    return ExecRequest.of(command.toArray(String[]::new));
  }

  private static void run(EbbClient client, List<String> command) throws Exception {
    check(client.runAndLeave(BoxRequest.defaults(), request(command)));
  }

  private static void check(Result result) {
    Integer code = result.exec().exitCode();
    if (code == null || code != 0) {
      throw new IllegalStateException(result.exec().document().toString());
    }
  }

  private static void tell(EbbClient client, String when) throws Exception {
    for (JsonObject kind : client.pool().objects("kinds")) {
      System.out.println(
          "%s: %s hits %d misses %d start %d ms"
              .formatted(
                  when,
                  kind.string("interpreter").isEmpty() ? "plain" : kind.string("interpreter"),
                  kind.number("hits"),
                  kind.number("misses"),
                  kind.number("startMillis")));
    }
  }
}
