package dev.ebb.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What a daemon in the background gets of our environment: what it reads, and nothing else. */
final class DaemonEnvironment {
  private static final Set<String> READ =
      Set.of("PATH", "HOME", "JAVA_HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ");

  /** Those that name a file, perhaps from where we are. */
  private static final Set<String> PATHS = Set.of("EBB_SOCKET", "EBB_CONFIG", "EBB_JAVA_HOME");

  /** A caller's, not the daemon's. */
  private static final Set<String> CALLERS = Set.of("EBB_URL", "EBB_KEY", "EBB_CA");

  private DaemonEnvironment() {}

  static List<String> of(Map<String, String> ours, Path home) {
    var environment = new TreeMap<String, String>();
    ours.forEach(
        (name, value) -> {
          if (PATHS.contains(name) && !value.isEmpty()) {
            environment.put(name, Path.of(value).toAbsolutePath().toString());
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
