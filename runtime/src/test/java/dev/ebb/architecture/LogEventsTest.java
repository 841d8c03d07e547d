package dev.ebb.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Holds docs/operate/log-events.md to the log lines of all modules. */
class LogEventsTest {
  private static final String WORD = "(?:[a-z]+|\\{0})";
  private static final String NAME = "event=(" + WORD + "(?:_" + WORD + ")*)";
  private static final Pattern EVENT = Pattern.compile(NAME);

  /** A call whose level is written before the event. */
  private static final Pattern LEVEL = Pattern.compile("Level\\.([A-Z]+),\\s*\"" + NAME);

  private static final Pattern ROW = Pattern.compile("\\| `(\\w+)` \\| ([^|]+) \\|.*");

  /** Fewer means that this test looked in the wrong place. */
  private static final int LEAST_EVENTS = 80;

  private static String sources() throws IOException {
    var text = new StringBuilder();
    for (Path module : modules()) {
      try (var files = Files.walk(module)) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          text.append(Files.readString(file));
        }
      }
    }
    return text.toString();
  }

  private static List<Path> modules() throws IOException {
    try (var entries = Files.list(TestHost.root())) {
      return entries
          .filter(entry -> !entry.endsWith("bench"))
          .map(entry -> entry.resolve("src/main/java"))
          .filter(Files::isDirectory)
          .toList();
    }
  }

  private static Set<String> logged() throws IOException {
    return EVENT
        .matcher(sources())
        .results()
        .map(found -> found.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The levels of each event in the document. */
  private static Map<String, String> listed() throws IOException {
    var rows = new TreeMap<String, String>();
    for (String line : Files.readAllLines(TestHost.root().resolve("docs/operate/log-events.md"))) {
      var row = ROW.matcher(line);
      if (row.matches()) {
        assertThat(rows.put(row.group(1), row.group(2))).as(line).isNull();
      }
    }
    return rows;
  }

  /** A name may have a part that is filled in when it is logged. */
  private static boolean isOneOf(String logged, String listed) {
    return listed.matches(logged.replace("{0}", "[a-z]+"));
  }

  @Test
  void everyEventIsListed() throws IOException {
    Set<String> listed = listed().keySet();
    Set<String> logged = logged();

    assertThat(logged).hasSizeGreaterThan(LEAST_EVENTS);
    assertThat(logged)
        .allSatisfy(event -> assertThat(listed).anyMatch(each -> isOneOf(event, each)));
  }

  @Test
  void everyListedEventIsLogged() throws IOException {
    Set<String> logged = logged();

    assertThat(listed().keySet())
        .allSatisfy(event -> assertThat(logged).as(event).anyMatch(each -> isOneOf(each, event)));
  }

  @Test
  void everyEventIsListedWithItsLevel() throws IOException {
    Map<String, String> listed = listed();
    List<MatchResult> calls = LEVEL.matcher(sources()).results().toList();

    assertThat(calls).hasSizeGreaterThan(LEAST_EVENTS / 2);
    assertThat(calls)
        .allSatisfy(
            call ->
                assertThat(listed.entrySet())
                    .as(call.group(2))
                    .anyMatch(
                        row ->
                            isOneOf(call.group(2), row.getKey())
                                && row.getValue().contains(call.group(1))));
  }
}
