package dev.ebb.server;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.tomlj.Toml;
import org.tomlj.TomlArray;
import org.tomlj.TomlParseError;
import org.tomlj.TomlParseResult;

/**
 * The configuration of a daemon with the origin of each value: a flag wins over the environment,
 * the environment over the file, the file over the default.
 */
final class Configuration {
  static final Path SYSTEM_FILE = Path.of("/etc/ebb/ebb.toml");

  /** A value and where it came from. */
  record Value(String text, String origin) {}

  private final Path home;
  private final Map<ConfigurationKey, Value> values;

  private Configuration(Path home, Map<ConfigurationKey, Value> values) {
    this.home = home;
    this.values = values;
  }

  /**
   * Merges all origins.
   *
   * @param file if given, it must exist
   */
  static Configuration of(
      Path home,
      Optional<Path> file,
      Map<String, String> environment,
      Map<ConfigurationKey, String> flags,
      HostCaps host) {
    var values = new EnumMap<ConfigurationKey, Value>(ConfigurationKey.class);
    for (ConfigurationKey key : ConfigurationKey.values()) {
      String otherwise = key == ConfigurationKey.SOCKET ? home.resolve("ebb.sock").toString() : "";
      values.put(key, new Value(otherwise, "default"));
    }
    host.texts().forEach((key, text) -> values.put(key, new Value(text, HostCaps.ORIGIN)));
    file.or(
            () ->
                Stream.of(home.resolve("ebb.toml"), SYSTEM_FILE).filter(Files::exists).findFirst())
        .ifPresent(path -> read(path, values));
    for (ConfigurationKey key : ConfigurationKey.values()) {
      Optional.ofNullable(environment.get(key.variable()))
          .ifPresent(text -> values.put(key, new Value(text, key.variable())));
      Optional.ofNullable(flags.get(key))
          .ifPresent(text -> values.put(key, new Value(text, key.flag())));
    }
    return new Configuration(home, values);
  }

  private static void read(Path file, Map<ConfigurationKey, Value> values) {
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
    Map<String, ConfigurationKey> known =
        Stream.of(ConfigurationKey.values())
            .collect(Collectors.toMap(ConfigurationKey::wireName, key -> key));
    for (String name : toml.dottedKeySet()) {
      ConfigurationKey key = known.get(name);
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

  static SandboxException bad(String message) {
    return new SandboxException(ErrorCode.BAD_REQUEST, message);
  }

  Map<ConfigurationKey, Value> values() {
    return values;
  }

  Path home() {
    return home;
  }

  LogOutput log() {
    return new SettingsReader(home, new ConfigurationValues(values)).log();
  }

  Settings settings() {
    return new SettingsReader(home, new ConfigurationValues(values)).read();
  }
}
