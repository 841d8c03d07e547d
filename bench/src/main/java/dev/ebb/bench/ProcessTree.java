package dev.ebb.bench;

import dev.ebb.json.JsonObject;
import java.util.List;

/** A command of many processes, which writes when all of them run. */
final class ProcessTree {
  private ProcessTree() {}

  /** A shell with its children; it does not end by itself. */
  static List<String> command(int count) {
    String script =
        "i=1; while [ $i -lt %d ]; do sleep 1000 & i=$((i+1)); done; echo; kill -STOP $$"
            .formatted(count);
    return List.of("/bin/sh", "-c", script);
  }

  /** Returns the request of a box that can hold it. */
  static String order(int count) {
    var limits = JsonObject.empty().with("pids", count + 10).with("memoryBytes", 4L << 30);
    return JsonObject.empty().with("limits", limits).toString();
  }

  /** Returns the request to start it. */
  static String exec(int count) {
    return JsonObject.empty().with("command", command(count)).toString();
  }
}
