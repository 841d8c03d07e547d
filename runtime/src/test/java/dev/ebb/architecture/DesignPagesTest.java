package dev.ebb.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Holds ARCHITECTURE.md, the pages it links to, and what users read first: types, links, length.
 */
class DesignPagesTest {
  private static final Pattern TYPE =
      Pattern.compile("`(?:[a-z]+\\.)*([A-Z][a-z]\\w*)(?:\\.\\w+)*`");
  private static final Pattern LINK = Pattern.compile("]\\(([^)#:]+)\\)");

  /** Inner types, and names that are not ours. */
  private static final Set<String> OTHERS = Set.of("OutputLost");

  private static final int ARCHITECTURE_BYTES = 8 * 1024;
  private static final int README_BYTES = 6 * 1024;
  private static final int LINE = 120;

  private static Path architecture() {
    return TestHost.root().resolve("ARCHITECTURE.md");
  }

  private static List<Path> pages() throws IOException {
    var pages = new ArrayList<Path>(List.of(architecture()));
    for (String directory : List.of("docs/design", "docs/protocol")) {
      try (var entries = Files.list(TestHost.root().resolve(directory))) {
        entries.forEach(pages::add);
      }
    }
    assertThat(pages).hasSizeGreaterThan(10);
    return pages;
  }

  /** The pages that users read first. */
  private static List<Path> guides() {
    return Stream.of(
            "README.md", "docs/boxes.md", "docs/cli.md", "docs/hosts.md", "docs/operate/daemon.md")
        .map(TestHost.root()::resolve)
        .toList();
  }

  private static List<Path> pagesAndGuides() throws IOException {
    return Stream.concat(pages().stream(), guides().stream()).toList();
  }

  private static Set<String> types() throws IOException {
    var types = new TreeSet<String>();
    for (Path module : modules()) {
      try (var files = Files.walk(module.resolve("src"))) {
        files
            .map(file -> String.valueOf(file.getFileName()))
            .filter(name -> name.endsWith(".java"))
            .map(name -> name.substring(0, name.length() - ".java".length()))
            .forEach(types::add);
      }
    }
    return types;
  }

  private static List<Path> modules() throws IOException {
    try (var entries = Files.list(TestHost.root())) {
      return entries.filter(entry -> Files.isDirectory(entry.resolve("src"))).toList();
    }
  }

  @Test
  void theyNameTypesThatExist() throws IOException {
    var unknown = new TreeSet<String>();
    var known = types();
    for (Path page : pages()) {
      TYPE.matcher(Files.readString(page))
          .results()
          .map(found -> found.group(1))
          .filter(type -> !known.contains(type) && !OTHERS.contains(type))
          .forEach(type -> unknown.add(page.getFileName() + ": " + type));
    }
    assertThat(unknown).isEmpty();
  }

  @Test
  void theirLinksLeadSomewhere() throws IOException {
    var dead = new TreeSet<String>();
    for (Path page : pagesAndGuides()) {
      LINK.matcher(Files.readString(page))
          .results()
          .map(found -> found.group(1))
          .filter(link -> !Files.exists(page.resolveSibling(link)))
          .forEach(link -> dead.add(page.getFileName() + ": " + link));
    }
    assertThat(dead).isEmpty();
  }

  @Test
  void everyPageIsLinkedFromTheArchitecture() throws IOException {
    String index = Files.readString(architecture());
    for (Path page : pages().subList(1, pages().size())) {
      assertThat(index).contains(TestHost.root().relativize(page).toString());
    }
  }

  @Test
  void architectureAndReadmeAreShortAndNoLineIsLong() throws IOException {
    assertThat(Files.size(architecture())).isLessThan(ARCHITECTURE_BYTES);
    assertThat(Files.size(TestHost.root().resolve("README.md"))).isLessThan(README_BYTES);
    var offences = new ArrayList<String>();
    for (Path page : pagesAndGuides()) {
      boolean code = false;
      for (String line : Files.readAllLines(page)) {
        code ^= line.startsWith("```");
        if (!code && !line.startsWith("|") && line.length() > LINE) {
          offences.add(page.getFileName() + ": " + line);
        }
      }
    }
    assertThat(offences).isEmpty();
  }
}
