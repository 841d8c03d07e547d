package dev.ebb.cli.daemon;

import dev.ebb.cli.caller.Caller;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The part of our environment that a daemon in the background reads, and nothing else. */
public final class DaemonEnvironment {
  private static final Set<String> READ =
      Set.of("PATH", "HOME", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ");

  /** Variables that name a file, perhaps relative to our directory. */
  private static final Set<String> PATHS = Set.of("EBB_SOCKET", "EBB_CONFIG", "EBB_JAVA_HOME");

  /** Variables of a caller, not of the daemon. */
  private static final Set<String> CALLERS = Set.of("EBB_URL", "EBB_KEY", "EBB_CA");

  private DaemonEnvironment() {}

  public static List<String> of(Caller caller, Map<String, String> ours, Path home) {
    var environment = new TreeMap<String, String>();
    ours.forEach(
        (name, value) -> {
          if (PATHS.contains(name) && !value.isEmpty()) {
            environment.put(name, caller.absolutePath(value).toString());
          } else if (READ.contains(name) || (name.startsWith("EBB_") && !CALLERS.contains(name))) {
            environment.put(name, value);
          }
        });
    environment.put("EBB_HOME", home.toString());
    // The call that starts it has just looked.
    environment.put("EBB_BUILD", "never");
    var words = new ArrayList<String>();
    environment.forEach((name, value) -> words.add(name + "=" + value));
    return words;
  }
}
