package dev.ebb.exec;

import dev.ebb.egress.Egress;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.ExecKind;
import dev.ebb.model.Network;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The environment of a command: no variables of the host, a few defaults, then the caller's. */
public final class Environment {
  private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

  private static final String PROXY = "http://127.0.0.1:" + Egress.PORT;
  private static final String LOOPBACK = "localhost,127.0.0.1,::1";

  private Environment() {}

  /** Returns lines of {@code NAME=value}. */
  public static List<String> lines(
      Map<String, String> given, int packages, ExecKind kind, Network network) {
    var all = new LinkedHashMap<String, String>();
    all.put("PATH", join(packages, "/bin", PATH));
    all.put("HOME", "/tmp/home");
    all.put("USER", "box");
    all.put("LOGNAME", "box");
    all.put("SHELL", "/bin/bash");
    all.put("LANG", "C.UTF-8");
    all.put("TMPDIR", "/tmp");
    if (kind instanceof ExecKind.Terminal) {
      all.put("TERM", "xterm-256color");
    }
    if (packages > 0) {
      all.put("PYTHONPATH", join(packages, "", ""));
      all.put("NODE_PATH", join(packages, "/node_modules", ""));
    }
    all.putAll(proxy(network));
    all.putAll(given);
    return all.entrySet().stream().map(entry -> entry.getKey() + "=" + entry.getValue()).toList();
  }

  /**
   * The variables that point programs to the proxy of a box. ALL_PROXY is for programs that read no
   * other variable, and for other schemes: the proxy refuses them with a message, which is clearer
   * than an unknown host.
   */
  public static Map<String, String> proxy(Network network) {
    if (network.policy().isEmpty()) {
      return Map.of();
    }
    var all = new LinkedHashMap<String, String>();
    for (String name : List.of("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")) {
      all.put(name, PROXY);
      all.put(name.toLowerCase(Locale.ROOT), PROXY);
    }
    // Servers on the loopback of the box are reached directly.
    all.put("NO_PROXY", LOOPBACK);
    all.put("no_proxy", LOOPBACK);
    all.put("NODE_USE_ENV_PROXY", "1");
    return all;
  }

  /** Joins the package directories, each with a suffix, and the rest. */
  private static String join(int packages, String suffix, String rest) {
    String paths =
        IntStream.range(0, packages)
            .mapToObj(n -> BoxPaths.packages(n) + suffix)
            .collect(Collectors.joining(":"));
    return paths.isEmpty() || rest.isEmpty() ? paths + rest : paths + ":" + rest;
  }
}
