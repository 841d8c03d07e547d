package dev.ebb.code;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.Language;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The languages that code may be written in, and those that this host has the tools for.
 * Thread-safe.
 */
public final class Languages {
  private static final String NEVER = "(?!)";

  /** Where boxes look for programs, as far as the host shows it to them. */
  private static final List<Path> PATH =
      List.of(
          Path.of("/usr/local/sbin"),
          Path.of("/usr/local/bin"),
          Path.of("/usr/sbin"),
          Path.of("/usr/bin"));

  private final List<Language> all;
  private final Function<String, Optional<Path>> find;

  Languages(String text, Function<String, Optional<Path>> find) {
    all = parse(text);
    this.find = find;
  }

  /** Finds the tools of this host. */
  public static Languages ofHost() {
    return new Languages(
        read(),
        tool ->
            PATH.stream()
                .map(directory -> directory.resolve(tool))
                .filter(Files::isExecutable)
                .findFirst());
  }

  private static String read() {
    try (InputStream in = Languages.class.getResourceAsStream("languages.txt")) {
      if (in == null) {
        throw new IllegalStateException("languages.txt is missing from the runtime's jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  // --- what there is ---

  /** Returns each language with the tools that the host has, or else those that are named first. */
  public List<Language> all() {
    var chosen = new LinkedHashMap<String, Language>();
    for (Language each : all) {
      Language known = chosen.putIfAbsent(each.name(), each);
      if (known != null && !isInstalled(known) && isInstalled(each)) {
        chosen.put(each.name(), each);
      }
    }
    return List.copyOf(chosen.values());
  }

  public boolean isInstalled(Language language) {
    return missing(language).isEmpty();
  }

  /** Returns the tools that the host lacks. */
  public List<String> missing(Language language) {
    return language.tools().stream().filter(tool -> find.apply(tool).isEmpty()).toList();
  }

  /**
   * Returns when its tools were last replaced, as far as the host shows it: other tools may have
   * other versions.
   */
  public List<FileTime> replaced(Language language) {
    var times = new ArrayList<FileTime>();
    for (String tool : language.tools()) {
      try {
        times.add(Files.getLastModifiedTime(find.apply(tool).orElseThrow()));
      } catch (IOException | NoSuchElementException e) {
        // RACE: it is being replaced right now.
        times.add(FileTime.fromMillis(0));
      }
    }
    return times;
  }

  /**
   * Returns the language of that name or alias, with tools that the host has; throws if there is
   * none.
   */
  public Language require(String word) {
    String lower = word.toLowerCase(Locale.ROOT);
    Optional<Language> found = all().stream().filter(each -> each.isCalled(lower)).findFirst();
    if (found.isEmpty()) {
      throw new SandboxException(
          ErrorCode.BAD_REQUEST,
          "unknown language \"" + word + "\"; this host has " + names(this::isInstalled));
    }
    List<String> missing = missing(found.get());
    if (!missing.isEmpty()) {
      throw new SandboxException(
          ErrorCode.UNSUPPORTED,
          "this host has no %s, which %s needs; it has the tools of %s"
              .formatted(
                  String.join(" and no ", missing), found.get().name(), names(this::isInstalled)));
    }
    return found.get();
  }

  private String names(Predicate<Language> which) {
    return all().stream().filter(which).map(Language::name).collect(Collectors.joining(", "));
  }

  // --- languages.txt ---

  private static List<Language> parse(String text) {
    var languages = new ArrayList<Language>();
    String name = "";
    var fields = new LinkedHashMap<String, String>();
    for (String line : text.lines().filter(each -> !each.startsWith("#")).toList()) {
      if (line.isBlank()) {
        continue;
      }
      if (!line.startsWith(" ")) {
        add(languages, name, fields);
        name = line.strip();
        fields.clear();
      } else {
        String[] words = line.strip().split(" +", 2);
        if (words.length < 2 || fields.put(words[0], words[1]) != null) {
          throw new IllegalArgumentException("languages.txt: " + name + ": " + line.strip());
        }
      }
    }
    add(languages, name, fields);
    return List.copyOf(languages);
  }

  private static void add(List<Language> languages, String name, Map<String, String> fields) {
    if (name.isEmpty()) {
      return;
    }
    var rest = new LinkedHashMap<>(fields);
    languages.add(
        new Language(
            name,
            words(rest.remove("aliases")),
            words(rest.remove("file")).getFirst(),
            words(rest.remove("compile")),
            words(rest.remove("run")),
            words(rest.remove("version")),
            environment(words(rest.remove("environment"))),
            Pattern.compile(Optional.ofNullable(rest.remove("invalid")).orElse(NEVER))));
    if (!rest.isEmpty()) {
      throw new IllegalArgumentException("languages.txt: " + name + ": unknown " + rest.keySet());
    }
  }

  private static List<String> words(@Nullable String text) {
    return text == null ? List.of() : List.of(text.strip().split(" +"));
  }

  private static Map<String, String> environment(List<String> words) {
    return words.stream()
        .map(word -> word.split("=", 2))
        .collect(Collectors.toUnmodifiableMap(pair -> pair[0], pair -> pair[1]));
  }
}
