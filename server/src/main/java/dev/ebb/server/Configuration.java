package dev.ebb.server;

import static java.util.Objects.requireNonNull;

import dev.ebb.box.Durations;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.cgroup.ByteSize;
import dev.ebb.egress.AddressBlock;
import dev.ebb.egress.EgressPolicy;
import dev.ebb.pool.Interpreter;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.pressure.Thresholds;
import dev.ebb.server.access.Caps;
import dev.ebb.server.access.Policy;
import dev.ebb.server.access.Quota;
import dev.ebb.server.pressure.PressureSettings;
import dev.ebb.server.rest.McpSettings;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

/**
 * What a daemon is configured with, and by whom: a flag wins over the environment, that over the
 * file, that over the default.
 */
final class Configuration {
  private static final Pattern INTERPRETER = Pattern.compile("(\\w+):([1-9]\\d{0,2})");

  static final Path SYSTEM_FILE = Path.of("/etc/ebb/ebb.toml");

  /** Everything that can be set; a list is separated by commas. */
  enum Key {
    SOCKET("socket", "the unix socket to answer on"),
    LISTEN("listen", "HOST:PORT to answer on too, with keys; empty: the unix socket only"),
    TLS_CERTIFICATE("tls.certificate", "PEM file with the certificate chain for TCP"),
    TLS_KEY("tls.key", "PEM file with its key, PKCS#8"),
    HOSTS("hosts", "names the daemon may be called by over TCP, beside the loopback's"),
    CONNECTIONS("connections", "most connections; default a quarter of the descriptors"),
    MOUNTS("policy.mounts", "directories that any tenant may mount read-only"),
    WRITABLE_MOUNTS("policy.writable-mounts", "directories that any tenant may mount"),
    HOST_NETWORK("policy.host-network", "true: any tenant may use the network of the host"),
    EGRESS("policy.egress", "names that any tenant may let boxes reach, as *.example.org; or *"),
    EGRESS_PRIVATE(
        "egress.private", "addresses that boxes may reach by name, public or not, as 10.1.0.0/16"),
    EGRESS_CONNECTIONS(
        "egress.connections",
        "most connections of boxes; default by the descriptors, 1024 at most"),
    MEMORY(
        "limits.memory",
        "most memory of a box, as 2g; default what the host has; empty, as for all limits: any"),
    PIDS("limits.pids", "most processes and threads of a box; default what the host may have"),
    CPUS("limits.cpus", "most processors of a box; default those of the host"),
    DISK(
        "limits.disk",
        "largest workspace of a box, as 1g; default the memory of the host, where it lies"),
    OUTPUT("limits.output", "most output of a command, as 64m"),
    OPEN_FILES("limits.open-files", "most open files of a process"),
    FILE_SIZE("limits.file-size", "largest file a command may write, as 1g"),
    TIMEOUT("limits.timeout", "longest run of a command, as 10m, and longest grace"),
    TTL("limits.ttl", "longest life of a box, as 7d"),
    SWEEP_INTERVAL("sweep.interval", "time between sweeps of the host, as 1m; 0: only when asked"),
    WARN("pressure.warn", "percent of any limit from which on that is told; 60"),
    ALERT("pressure.alert", "percent from which on is cleaned up, and work has to wait; 80"),
    FULL("pressure.full", "percent from which on no work begins; 95"),
    QUEUE("pressure.queue", "how many requests may wait at the alert level; 128"),
    WAIT("pressure.wait", "how long each of them may, as 10s"),
    QUIET("pressure.quiet", "time without work after which the daemon counts as idle, as 10s"),
    QUOTA_BOXES("quotas.boxes", "most boxes of a tenant; this and the other quotas, empty: any"),
    QUOTA_EXECS("quotas.execs", "most commands of a tenant that run at a time"),
    QUOTA_MEMORY("quotas.memory", "most memory of all boxes of a tenant, by their limits, as 8g"),
    QUOTA_CPUS("quotas.cpus", "most processors of all boxes of a tenant"),
    QUOTA_PIDS("quotas.pids", "most processes and threads of all boxes of a tenant"),
    QUOTA_RATE("quotas.rate", "most requests of a tenant in a second"),
    MCP_IDLE("mcp.idle", "time after which a session of MCP ends that nobody uses, as 10m"),
    MCP_SESSIONS("mcp.sessions", "most sessions of MCP of a tenant; default 100"),
    POOL_MIN("pool.min", "boxes that wait, made ahead, also when nobody asks; default 1"),
    POOL_MAX("pool.max", "most boxes that wait; default 8; 0: none"),
    POOL_AGE("pool.age", "how long a box may wait, as 10m"),
    POOL_INTERPRETERS(
        "pool.interpreters", "boxes with a started interpreter too, as python3:2,node:1"),
    POOL_PRELOAD("pool.preload", "modules that python3 imports before it waits, as json,numpy"),
    POOL_ZYGOTE("pool.zygote", "true: those python3 are copies of one, see docs/adr/0008; false"),
    POOL_ZYGOTE_AGE("pool.zygote-age", "how long one is copied before the next is started, as 10m"),
    POOL_ZYGOTE_COUNT("pool.zygote-count", "how many copies are made of one; default 1000");

    private final String name;
    private final String description;

    Key(String name, String description) {
      this.name = name;
      this.description = description;
    }

    String word() {
      return name;
    }

    String description() {
      return description;
    }

    String flag() {
      return "--" + name.replace('.', '-');
    }

    String variable() {
      return "EBB_" + name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
    }
  }

  /** A value and where it came from. */
  record Value(String text, String origin) {}

  private final Path home;
  private final Map<Key, Value> values;

  private Configuration(Path home, Map<Key, Value> values) {
    this.home = home;
    this.values = values;
  }

  /**
   * Puts it together.
   *
   * @param file to be read, which must exist if it is given
   */
  static Configuration of(
      Path home,
      Optional<Path> file,
      Map<String, String> environment,
      Map<Key, String> flags,
      HostCaps host) {
    var values = new EnumMap<Key, Value>(Key.class);
    for (Key key : Key.values()) {
      String otherwise = key == Key.SOCKET ? home.resolve("ebb.sock").toString() : "";
      values.put(key, new Value(otherwise, "default"));
    }
    host.texts().forEach((key, text) -> values.put(key, new Value(text, HostCaps.ORIGIN)));
    file.or(
            () ->
                Stream.of(home.resolve("ebb.toml"), SYSTEM_FILE).filter(Files::exists).findFirst())
        .ifPresent(path -> read(path, values));
    for (Key key : Key.values()) {
      Optional.ofNullable(environment.get(key.variable()))
          .ifPresent(text -> values.put(key, new Value(text, key.variable())));
      Optional.ofNullable(flags.get(key))
          .ifPresent(text -> values.put(key, new Value(text, key.flag())));
    }
    return new Configuration(home, values);
  }

  private static void read(Path file, Map<Key, Value> values) {
    TomlParseResult toml;
    try {
      toml = Toml.parse(file);
    } catch (IOException e) {
      throw bad("cannot read " + file + ": " + e);
    }
    if (toml.hasErrors()) {
      String errors =
          toml.errors().stream().map(TomlParseError::toString).collect(Collectors.joining("; "));
      throw bad(file + ": " + errors);
    }
    Map<String, Key> known =
        Stream.of(Key.values()).collect(Collectors.toMap(Key::word, key -> key));
    for (String name : toml.dottedKeySet()) {
      Key key = known.get(name);
      if (key == null) {
        throw bad(
            "%s: unknown key \"%s\"; known: %s"
                .formatted(
                    file,
                    name,
                    known.keySet().stream().sorted().collect(Collectors.joining(", "))));
      }
      values.put(key, new Value(text(toml.get(name)), file.toString()));
    }
  }

  private static String text(@Nullable Object value) {
    return value instanceof TomlArray array
        ? array.toList().stream().map(String::valueOf).collect(Collectors.joining(","))
        : String.valueOf(value);
  }

  private static SandboxException bad(String message) {
    return new SandboxException(ErrorCode.BAD_REQUEST, message);
  }

  Map<Key, Value> values() {
    return values;
  }

  Path home() {
    return home;
  }

  private String text(Key key) {
    return requireNonNull(values.get(key)).text();
  }

  private SandboxException wrong(Key key, String wanted) {
    Value value = requireNonNull(values.get(key));
    return bad(
        "%s is \"%s\" (%s), but must be %s"
            .formatted(key.word(), value.text(), value.origin(), wanted));
  }

  private List<String> list(Key key) {
    return Stream.of(text(key).split(",")).map(String::strip).filter(t -> !t.isEmpty()).toList();
  }

  private List<Path> paths(Key key) {
    return list(key).stream().map(text -> absolute(key, text)).toList();
  }

  private Path absolute(Key key, String text) {
    Path path = Path.of(text);
    if (!path.isAbsolute()) {
      throw wrong(key, "an absolute path");
    }
    return path.normalize();
  }

  Settings settings() {
    var policy =
        new Policy(
            paths(Key.MOUNTS),
            paths(Key.WRITABLE_MOUNTS),
            flag(Key.HOST_NETWORK),
            parsed(Key.EGRESS, EgressPolicy::parse),
            caps());
    return new Settings(
        home,
        absolute(Key.SOCKET, text(Key.SOCKET)),
        listen(),
        tls(),
        Set.copyOf(list(Key.HOSTS)),
        atLeastOne(Key.CONNECTIONS),
        policy,
        limit(Key.SWEEP_INTERVAL, Durations::parse, Settings.SWEEP_INTERVAL, "a duration, as 1m"),
        pressure(),
        quota(),
        pool(),
        new Settings.Egress(
            parsed(Key.EGRESS_PRIVATE, blocks -> blocks.stream().map(AddressBlock::parse).toList()),
            atLeastOne(Key.EGRESS_CONNECTIONS)),
        mcp());
  }

  private <T> T parsed(Key key, Function<List<String>, T> parser) {
    try {
      return parser.apply(list(key));
    } catch (IllegalArgumentException e) {
      throw bad(key.word() + ": " + e.getMessage());
    }
  }

  private int atLeastOne(Key key) {
    int most = count(key, Settings.ANY_CONNECTIONS);
    if (most < 1) {
      throw wrong(key, "at least 1");
    }
    return most;
  }

  private PressureSettings pressure() {
    PressureSettings otherwise = PressureSettings.DEFAULT;
    Thresholds usual = otherwise.thresholds();
    try {
      double warn = limit(Key.WARN, Double::valueOf, usual.warn(), "a percentage");
      var thresholds =
          new Thresholds(
              warn,
              limit(Key.ALERT, Double::valueOf, usual.alert(), "a percentage"),
              limit(Key.FULL, Double::valueOf, usual.full(), "a percentage"),
              Math.min(usual.hysteresis(), warn / 2));
      return new PressureSettings(
          thresholds,
          count(Key.QUEUE, otherwise.queue()),
          limit(Key.WAIT, Durations::parse, otherwise.patience(), "a duration, as 10s"),
          limit(Key.QUIET, Durations::parse, otherwise.quiet(), "a duration, as 10s"));
    } catch (IllegalArgumentException e) {
      throw bad(String.valueOf(e.getMessage()));
    }
  }

  private Quota quota() {
    Quota quota = Quota.NONE;
    for (Quota.Kind kind : Quota.Kind.values()) {
      Key key =
          switch (kind) {
            case BOXES -> Key.QUOTA_BOXES;
            case EXECS -> Key.QUOTA_EXECS;
            case MEMORY -> Key.QUOTA_MEMORY;
            case CPUS -> Key.QUOTA_CPUS;
            case PIDS -> Key.QUOTA_PIDS;
            case RATE -> Key.QUOTA_RATE;
          };
      if (!text(key).isEmpty()) {
        try {
          quota = quota.with(kind, text(key));
        } catch (IllegalArgumentException e) {
          throw bad(key.word() + ": " + e.getMessage());
        }
      }
    }
    return quota;
  }

  private McpSettings mcp() {
    var otherwise = McpSettings.DEFAULT;
    Duration idle = limit(Key.MCP_IDLE, Durations::parse, otherwise.idle(), "a duration, as 10m");
    int sessions = count(Key.MCP_SESSIONS, otherwise.sessions());
    if (!idle.isPositive()) {
      throw wrong(Key.MCP_IDLE, "above 0");
    }
    if (sessions < 0) {
      throw wrong(Key.MCP_SESSIONS, "at least 0");
    }
    return new McpSettings(idle, sessions);
  }

  private PoolPolicy pool() {
    var otherwise = PoolPolicy.DEFAULT;
    int max = count(Key.POOL_MAX, otherwise.max());
    int min = count(Key.POOL_MIN, Math.min(otherwise.min(), max));
    if (min < 0 || min > max) {
      throw wrong(Key.POOL_MIN, "at least 0, and at most pool.max, which is " + max);
    }
    Duration age = limit(Key.POOL_AGE, Durations::parse, otherwise.age(), "a duration, as 10m");
    if (!age.isPositive()) {
      throw wrong(Key.POOL_AGE, "a duration, as 10m");
    }
    var policy = new PoolPolicy(min, max, age, interpreters(), list(Key.POOL_PRELOAD));
    return flag(Key.POOL_ZYGOTE) ? policy.withCopies(copies()) : policy;
  }

  private PoolPolicy.Copies copies() {
    var otherwise = PoolPolicy.Copies.DEFAULT;
    Duration age =
        limit(Key.POOL_ZYGOTE_AGE, Durations::parse, otherwise.age(), "a duration, as 10m");
    int count = count(Key.POOL_ZYGOTE_COUNT, otherwise.count());
    if (!age.isPositive()) {
      throw wrong(Key.POOL_ZYGOTE_AGE, "a duration, as 10m");
    }
    if (count < 1) {
      throw wrong(Key.POOL_ZYGOTE_COUNT, "at least 1");
    }
    return new PoolPolicy.Copies(age, count);
  }

  private Map<Interpreter, Integer> interpreters() {
    var counts = new EnumMap<Interpreter, Integer>(Interpreter.class);
    for (String word : list(Key.POOL_INTERPRETERS)) {
      var match = INTERPRETER.matcher(word);
      Optional<Interpreter> known =
          match.matches() ? Interpreter.parse(match.group(1)) : Optional.empty();
      if (known.isEmpty()) {
        throw wrong(Key.POOL_INTERPRETERS, "python3 or node, and how many, as python3:2,node:1");
      }
      counts.put(known.get(), Integer.valueOf(match.group(2)));
    }
    return counts;
  }

  private Caps caps() {
    return new Caps(
        size(Key.MEMORY),
        count(Key.PIDS, Caps.ANY_PIDS),
        limit(Key.CPUS, Double::valueOf, Caps.ANY_CPUS, "a number"),
        size(Key.DISK),
        size(Key.OUTPUT),
        count(Key.OPEN_FILES, Caps.ANY_FILES),
        size(Key.FILE_SIZE),
        time(Key.TIMEOUT),
        time(Key.TTL));
  }

  private ByteSize size(Key key) {
    return limit(key, ByteSize::parse, Caps.ANY_SIZE, "a size, as 512m");
  }

  private int count(Key key, int any) {
    return limit(key, Integer::valueOf, any, "a whole number");
  }

  private Duration time(Key key) {
    return limit(key, Durations::parse, Duration.ZERO, "a duration, as 10m");
  }

  private <T> T limit(Key key, Function<String, T> parser, T any, String wanted) {
    String text = text(key);
    try {
      return text.isEmpty() ? any : parser.apply(text);
    } catch (IllegalArgumentException e) {
      throw wrong(key, wanted);
    }
  }

  private boolean flag(Key key) {
    return switch (text(key)) {
      case "true" -> true;
      case "false", "" -> false;
      default -> throw wrong(key, "true or false");
    };
  }

  private Optional<InetSocketAddress> listen() {
    String text = text(Key.LISTEN);
    if (text.isEmpty()) {
      return Optional.empty();
    }
    int colon = text.lastIndexOf(':');
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      if (colon > 0 && port >= 0 && port <= 65535) {
        String host = text.substring(0, colon);
        return Optional.of(new InetSocketAddress(host.replaceAll("^\\[|\\]$", ""), port));
      }
    } catch (NumberFormatException e) {
      // Below.
    }
    throw wrong(Key.LISTEN, "HOST:PORT");
  }

  private Optional<Settings.Certified> tls() {
    boolean certificate = !text(Key.TLS_CERTIFICATE).isEmpty();
    if (certificate != !text(Key.TLS_KEY).isEmpty()) {
      throw bad("tls.certificate and tls.key are needed together");
    }
    return certificate
        ? Optional.of(
            new Settings.Certified(
                absolute(Key.TLS_CERTIFICATE, text(Key.TLS_CERTIFICATE)),
                absolute(Key.TLS_KEY, text(Key.TLS_KEY))))
        : Optional.empty();
  }
}
