package dev.ebb.cli.option;

import dev.ebb.model.ByteSize;
import dev.ebb.model.Durations;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/** The forms of options and their values. */
public final class Options {
  private Options() {}

  public static CommandSpec command(String name, String description) {
    CommandSpec spec = CommandSpec.create().name(name).addOption(help());
    spec.usageMessage().description(description).abbreviateSynopsis(true).width(100);
    return spec;
  }

  public static OptionSpec help() {
    return flag("show this help", "-h", "--help").toBuilder().usageHelp(true).build();
  }

  public static OptionSpec flag(String description, String... names) {
    return OptionSpec.builder(names).type(boolean.class).description(description).build();
  }

  /** An option with one value. */
  public static <T> OptionSpec value(
      String name, String label, Class<T> type, ITypeConverter<T> converter, String description) {
    return OptionSpec.builder(name)
        .paramLabel(label)
        .type(type)
        .converters(converter)
        .description(description)
        .build();
  }

  /** An option that may be given many times. */
  public static OptionSpec list(String[] names, String label, String description) {
    return OptionSpec.builder(names)
        .paramLabel(label)
        .type(String[].class)
        .description(description)
        .build();
  }

  public static OptionSpec json() {
    return flag("print JSON", "--json");
  }

  public static OptionSpec noWait() {
    return flag("return at once, without waiting for the end", "--no-wait");
  }

  public static OptionSpec size(String name, String description, ByteSize otherwise) {
    return value(
        name, "SIZE", ByteSize.class, Options::size, description + " (default: " + otherwise + ")");
  }

  public static OptionSpec duration(String name, String description) {
    return value(name, "DURATION", Duration.class, Options::duration, description);
  }

  public static OptionSpec text(String name, String label, String description) {
    return value(name, label, String.class, text -> text, description);
  }

  /** Arguments without a dash, always as a list. */
  public static PositionalParamSpec positional(String label, String arity, String description) {
    return PositionalParamSpec.builder()
        .paramLabel(label)
        .type(List.class)
        .auxiliaryTypes(String.class)
        .arity(arity)
        .description(description)
        .build();
  }

  /** All arguments without a dash. */
  public static List<String> words(ParseResult parsed) {
    return parsed.matchedPositionalValue(0, List.of());
  }

  public static List<String> many(ParseResult parsed, String option) {
    return List.of(parsed.matchedOptionValue(option, new String[0]));
  }

  /** None when it was not given. */
  public static <T> Optional<T> find(ParseResult parsed, String option) {
    return Optional.ofNullable(parsed.matchedOptionValue(option, null));
  }

  public static ParameterException bad(ParseResult parsed, String message) {
    return new ParameterException(parsed.commandSpec().commandLine(), message);
  }

  /** Checks a name that becomes part of a URL: it is not empty, and does not lead upwards. */
  public static String box(ParseResult parsed, String text) {
    if (text.isBlank() || text.equals(".") || text.equals("..")) {
      throw bad(parsed, "bad box \"" + text + "\": write an id, or a name");
    }
    return text;
  }

  public static <T> T get(ParseResult parsed, String name, T otherwise) {
    return parsed.matchedOptionValue(name, otherwise);
  }

  public static ByteSize size(String text) {
    return converted(ByteSize::parse, text);
  }

  public static Duration duration(String text) {
    return converted(Durations::parse, text);
  }

  private static <T> T converted(Function<String, T> parser, String text) {
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(String.valueOf(e.getMessage()));
    }
  }

  public static Integer count(String text) {
    try {
      int count = Integer.parseInt(text);
      if (count > 0) {
        return count;
      }
    } catch (NumberFormatException e) {
      // Reported below, with the other errors.
    }
    throw new TypeConversionException("bad number \"" + text + "\": write a whole number above 0");
  }

  static Double cpus(String text) {
    try {
      double cpus = Double.parseDouble(text);
      if (cpus > 0 && cpus < 10_000) {
        return cpus;
      }
    } catch (NumberFormatException e) {
      // Reported below, with the other errors.
    }
    throw new TypeConversionException("bad number of cpus \"" + text + "\": write 0.5 or 2");
  }
}
