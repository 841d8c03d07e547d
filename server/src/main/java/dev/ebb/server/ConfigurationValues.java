package dev.ebb.server;

import static java.util.Objects.requireNonNull;

import dev.ebb.model.ByteSize;
import dev.ebb.model.Durations;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.access.Caps;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Reads each value of a configuration by the type of its key; an error names the origin of the
 * value.
 */
final class ConfigurationValues {
  private final Map<ConfigurationKey, Configuration.Value> values;

  ConfigurationValues(Map<ConfigurationKey, Configuration.Value> values) {
    this.values = values;
  }

  String text(ConfigurationKey key) {
    return requireNonNull(values.get(key)).text();
  }

  SandboxException wrong(ConfigurationKey key, String wanted) {
    Configuration.Value value = requireNonNull(values.get(key));
    return Configuration.bad(
        "%s is \"%s\" (%s), but must be %s"
            .formatted(key.wireName(), value.text(), value.origin(), wanted));
  }

  List<String> list(ConfigurationKey key) {
    return Stream.of(text(key).split(",")).map(String::strip).filter(t -> !t.isEmpty()).toList();
  }

  List<Path> paths(ConfigurationKey key) {
    return list(key).stream().map(text -> absolute(key, text)).toList();
  }

  Path path(ConfigurationKey key) {
    return absolute(key, text(key));
  }

  private Path absolute(ConfigurationKey key, String text) {
    Path path = Path.of(text);
    if (!path.isAbsolute()) {
      throw wrong(key, "an absolute path");
    }
    return path.normalize();
  }

  <T> T parsed(ConfigurationKey key, Function<List<String>, T> parser) {
    try {
      return parser.apply(list(key));
    } catch (IllegalArgumentException e) {
      throw Configuration.bad(key.wireName() + ": " + e.getMessage());
    }
  }

  int atLeastOne(ConfigurationKey key) {
    int most = count(key, Settings.ANY_CONNECTIONS);
    if (most < 1) {
      throw wrong(key, "at least 1");
    }
    return most;
  }

  ByteSize size(ConfigurationKey key) {
    return limit(key, ByteSize::parse, Caps.ANY_SIZE, "a size, as 512m");
  }

  int count(ConfigurationKey key, int any) {
    return limit(key, Integer::valueOf, any, "a whole number");
  }

  Duration time(ConfigurationKey key) {
    return time(key, Duration.ZERO, "10m");
  }

  Duration time(ConfigurationKey key, Duration otherwise, String example) {
    return limit(key, Durations::parse, otherwise, "a duration, as " + example);
  }

  <T> T limit(ConfigurationKey key, Function<String, T> parser, T any, String wanted) {
    String text = text(key);
    try {
      return text.isEmpty() ? any : parser.apply(text);
    } catch (IllegalArgumentException e) {
      throw wrong(key, wanted);
    }
  }

  boolean flag(ConfigurationKey key) {
    return flag(key, false);
  }

  boolean flag(ConfigurationKey key, boolean otherwise) {
    return switch (text(key)) {
      case "true" -> true;
      case "false" -> false;
      case "" -> otherwise;
      default -> throw wrong(key, "true or false");
    };
  }
}
