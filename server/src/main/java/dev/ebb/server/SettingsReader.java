package dev.ebb.server;

import dev.ebb.admission.PressureSettings;
import dev.ebb.admission.Thresholds;
import dev.ebb.egress.AddressBlock;
import dev.ebb.model.EgressPolicy;
import dev.ebb.pool.Interpreter;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.http.Tls;
import dev.ebb.server.service.access.Caps;
import dev.ebb.server.service.access.Policy;
import dev.ebb.server.service.access.Quota;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Makes the settings of a daemon from the values of its configuration. */
final class SettingsReader {
  private static final Pattern INTERPRETER = Pattern.compile("(\\w+):([1-9]\\d{0,2})");

  private final Path home;
  private final ConfigurationValues values;

  SettingsReader(Path home, ConfigurationValues values) {
    this.home = home;
    this.values = values;
  }

  Settings read() {
    var policy =
        new Policy(
            values.paths(ConfigurationKey.MOUNTS),
            values.paths(ConfigurationKey.WRITABLE_MOUNTS),
            values.flag(ConfigurationKey.HOST_NETWORK),
            values.parsed(ConfigurationKey.EGRESS, EgressPolicy::parse),
            values.list(ConfigurationKey.BACKENDS),
            caps());
    return new Settings(
        home,
        values.path(ConfigurationKey.SOCKET),
        listen(),
        tls(),
        Set.copyOf(values.list(ConfigurationKey.HOSTS)),
        values.atLeastOne(ConfigurationKey.CONNECTIONS),
        policy,
        values.time(ConfigurationKey.SWEEP_INTERVAL, Settings.SWEEP_INTERVAL, "1m"),
        pressure(),
        quota(),
        pool(),
        new Settings.Egress(
            values.parsed(
                ConfigurationKey.EGRESS_PRIVATE,
                blocks -> blocks.stream().map(AddressBlock::parse).toList()),
            values.atLeastOne(ConfigurationKey.EGRESS_CONNECTIONS)),
        mcp(),
        values.flag(ConfigurationKey.REHEARSAL, true));
  }

  LogOutput log() {
    var form =
        LogOutput.parse(
            LogLine.Form.values(), values.text(ConfigurationKey.LOG_FORMAT), LogLine.Form.TEXT);
    var least =
        LogOutput.parse(
            LogOutput.Least.values(),
            values.text(ConfigurationKey.LOG_LEVEL),
            LogOutput.Least.INFO);
    return new LogOutput(
        form.orElseThrow(() -> values.wrong(ConfigurationKey.LOG_FORMAT, "text or json")),
        least.orElseThrow(
            () -> values.wrong(ConfigurationKey.LOG_LEVEL, "debug, info, warning or error")));
  }

  private PressureSettings pressure() {
    PressureSettings otherwise = PressureSettings.DEFAULT;
    Thresholds usual = otherwise.thresholds();
    try {
      double warn =
          values.limit(ConfigurationKey.WARN, Double::valueOf, usual.warn(), "a percentage");
      var thresholds =
          new Thresholds(
              warn,
              values.limit(ConfigurationKey.ALERT, Double::valueOf, usual.alert(), "a percentage"),
              values.limit(ConfigurationKey.FULL, Double::valueOf, usual.full(), "a percentage"),
              Math.min(usual.hysteresis(), warn / 2));
      return new PressureSettings(
          thresholds,
          values.count(ConfigurationKey.QUEUE, otherwise.queue()),
          values.time(ConfigurationKey.WAIT, otherwise.patience(), "10s"),
          values.time(ConfigurationKey.QUIET, otherwise.quiet(), "10s"));
    } catch (IllegalArgumentException e) {
      throw Configuration.bad(String.valueOf(e.getMessage()));
    }
  }

  private Quota quota() {
    Quota quota = Quota.NONE;
    for (Quota.Kind kind : Quota.Kind.values()) {
      ConfigurationKey key =
          switch (kind) {
            case BOXES -> ConfigurationKey.QUOTA_BOXES;
            case EXECS -> ConfigurationKey.QUOTA_EXECS;
            case MEMORY -> ConfigurationKey.QUOTA_MEMORY;
            case CPUS -> ConfigurationKey.QUOTA_CPUS;
            case PIDS -> ConfigurationKey.QUOTA_PIDS;
            case RATE -> ConfigurationKey.QUOTA_RATE;
          };
      if (!values.text(key).isEmpty()) {
        try {
          quota = quota.with(kind, values.text(key));
        } catch (IllegalArgumentException e) {
          throw Configuration.bad(key.wireName() + ": " + e.getMessage());
        }
      }
    }
    return quota;
  }

  private SessionLimits mcp() {
    var otherwise = SessionLimits.DEFAULT;
    Duration idle = values.time(ConfigurationKey.MCP_IDLE, otherwise.idle(), "10m");
    int sessions = values.count(ConfigurationKey.MCP_SESSIONS, otherwise.most());
    if (!idle.isPositive()) {
      throw values.wrong(ConfigurationKey.MCP_IDLE, "above 0");
    }
    if (sessions < 0) {
      throw values.wrong(ConfigurationKey.MCP_SESSIONS, "at least 0");
    }
    return new SessionLimits(idle, sessions);
  }

  private PoolPolicy pool() {
    return switch (values.text(ConfigurationKey.POOL)) {
      case "", "adaptive" -> pool(PoolPolicy.ADAPTIVE).withAdaptation(adaptation());
      case "fixed" -> pool(PoolPolicy.FIXED);
      case "off" -> PoolPolicy.OFF;
      default -> throw values.wrong(ConfigurationKey.POOL, "adaptive, fixed or off");
    };
  }

  private PoolPolicy.Adaptation adaptation() {
    var otherwise = PoolPolicy.Adaptation.DEFAULT;
    Duration idle = values.time(ConfigurationKey.POOL_IDLE, otherwise.idle(), "5m");
    if (!idle.isPositive()) {
      throw values.wrong(ConfigurationKey.POOL_IDLE, "a duration, as 5m");
    }
    return new PoolPolicy.Adaptation(idle, values.text(ConfigurationKey.POOL_PRELOAD).isEmpty());
  }

  private PoolPolicy pool(PoolPolicy otherwise) {
    int max = values.count(ConfigurationKey.POOL_MAX, otherwise.max());
    int min = values.count(ConfigurationKey.POOL_MIN, Math.min(otherwise.min(), max));
    if (min < 0 || min > max) {
      throw values.wrong(
          ConfigurationKey.POOL_MIN, "at least 0, and at most pool.max, which is " + max);
    }
    Duration age = values.time(ConfigurationKey.POOL_AGE, otherwise.age(), "10m");
    if (!age.isPositive()) {
      throw values.wrong(ConfigurationKey.POOL_AGE, "a duration, as 10m");
    }
    boolean isByDefault = values.text(ConfigurationKey.POOL_INTERPRETERS).isEmpty();
    boolean copies =
        values.text(ConfigurationKey.POOL_ZYGOTE).isEmpty()
            ? otherwise.copies().isPresent()
            : values.flag(ConfigurationKey.POOL_ZYGOTE);
    var policy =
        new PoolPolicy(
            min,
            max,
            age,
            isByDefault ? otherwise.interpreters() : interpreters(),
            values.list(ConfigurationKey.POOL_PRELOAD));
    return copies ? policy.withCopies(copies()) : policy;
  }

  private PoolPolicy.Copies copies() {
    var otherwise = PoolPolicy.Copies.DEFAULT;
    Duration age = values.time(ConfigurationKey.POOL_ZYGOTE_AGE, otherwise.age(), "10m");
    int count = values.count(ConfigurationKey.POOL_ZYGOTE_COUNT, otherwise.count());
    if (!age.isPositive()) {
      throw values.wrong(ConfigurationKey.POOL_ZYGOTE_AGE, "a duration, as 10m");
    }
    if (count < 1) {
      throw values.wrong(ConfigurationKey.POOL_ZYGOTE_COUNT, "at least 1");
    }
    return new PoolPolicy.Copies(age, count);
  }

  private Map<Interpreter, Integer> interpreters() {
    var counts = new EnumMap<Interpreter, Integer>(Interpreter.class);
    for (String word : values.list(ConfigurationKey.POOL_INTERPRETERS)) {
      var match = INTERPRETER.matcher(word);
      Optional<Interpreter> known =
          match.matches() ? Interpreter.parse(match.group(1)) : Optional.empty();
      if (known.isEmpty()) {
        throw values.wrong(
            ConfigurationKey.POOL_INTERPRETERS,
            "python3 or node, and how many, as python3:2,node:1");
      }
      counts.put(known.get(), Integer.valueOf(match.group(2)));
    }
    return counts;
  }

  private Caps caps() {
    return new Caps(
        values.size(ConfigurationKey.MEMORY),
        values.count(ConfigurationKey.PIDS, Caps.ANY_PIDS),
        values.limit(ConfigurationKey.CPUS, Double::valueOf, Caps.ANY_CPUS, "a number"),
        values.size(ConfigurationKey.DISK),
        values.size(ConfigurationKey.OUTPUT),
        values.count(ConfigurationKey.OPEN_FILES, Caps.ANY_FILES),
        values.size(ConfigurationKey.FILE_SIZE),
        values.time(ConfigurationKey.TIMEOUT),
        values.time(ConfigurationKey.TTL));
  }

  private Optional<InetSocketAddress> listen() {
    String text = values.text(ConfigurationKey.LISTEN);
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
    throw values.wrong(ConfigurationKey.LISTEN, "HOST:PORT");
  }

  private Optional<Tls.PemFiles> tls() {
    boolean certificate = !values.text(ConfigurationKey.TLS_CERTIFICATE).isEmpty();
    if (certificate != !values.text(ConfigurationKey.TLS_KEY).isEmpty()) {
      throw Configuration.bad("tls.certificate and tls.key are needed together");
    }
    return certificate
        ? Optional.of(
            new Tls.PemFiles(
                values.path(ConfigurationKey.TLS_CERTIFICATE),
                values.path(ConfigurationKey.TLS_KEY)))
        : Optional.empty();
  }
}
