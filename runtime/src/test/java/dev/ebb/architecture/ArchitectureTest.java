package dev.ebb.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import dev.ebb.testkit.ArchitectureRules;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The layers of ARCHITECTURE.md, and what product code may not use. */
class ArchitectureTest implements ArchitectureRules {
  private static final String ROOT = "dev.ebb.";

  /** Each package may use only itself and those before it. */
  private static final List<List<String>> LAYERS =
      List.of(
          List.of("model"),
          List.of("fault"),
          List.of("ledger"),
          List.of("store"),
          List.of("process"),
          List.of("cgroup"),
          List.of("egress"),
          List.of("init"),
          List.of("backend", "backend.bubblewrap", "backend.forkserver"),
          List.of("admission"),
          List.of("box"),
          List.of("exec"),
          List.of("pool"),
          List.of("code"),
          List.of("supervision"),
          List.of("engine"));

  private static JavaClasses classes;

  @Override
  public String module() {
    return "runtime";
  }

  @Override
  public List<String> packages() {
    return LAYERS.stream().flatMap(List::stream).map(name -> ROOT + name).toList();
  }

  @Override
  public int leastClasses() {
    return 300;
  }

  @Override
  public Set<String> usedModules() {
    return Set.of("kernel");
  }

  @BeforeAll
  static void read() {
    classes = new ClassFileImporter().importPath(TestHost.root().resolve("runtime/target/classes"));
  }

  /** The package below dev.ebb; empty for a class that is not ours. */
  private static String packageOf(JavaClass type) {
    String name = type.getPackageName();
    return name.startsWith(ROOT) ? name.substring(ROOT.length()) : "";
  }

  /** The order of a lock without a place in LockOrder is not checked. */
  @Test
  void everyLockHasItsPlaceInTheOrder() throws IOException {
    var plain =
        Pattern.compile(
            "\\bReentrant(ReadWrite)?Lock\\b|\\bStampedLock\\b|\\bsynchronized [\\w<@(]");
    // Monitors of a few lines, under which nothing else is called.
    var leaves =
        Set.of("CallOff.java", "HostUids.java", "Bucket.java", "EgressNews.java", "Resolvers.java");
    var offences = new ArrayList<String>();
    int files = 0;
    for (String module : List.of("runtime", "server", "mcp")) {
      try (var sources = Files.walk(TestHost.root().resolve(module + "/src/main/java"))) {
        for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
          files++;
          Files.readAllLines(source).stream()
              .filter(line -> !leaves.contains(source.getFileName().toString()))
              .filter(line -> plain.matcher(line).find())
              .forEach(line -> offences.add(source.getFileName() + ": " + line.strip()));
        }
      }
    }
    assertThat(files).isGreaterThan(100);
    assertThat(offences).isEmpty();
  }

  /** A box that handed out its parts would be changed and ended by everyone. */
  @Test
  void aBoxIsSmallAndKeepsItsParts() {
    var parts =
        Set.of(
            "BoxHost",
            "BoxParts",
            "Enclosure",
            "InitChannel",
            "Journal",
            "LogDirectory",
            "OrderedLock",
            "OrderedReadWriteLock",
            "Sandbox",
            "Scope");
    var open =
        classes.get(ROOT + "box.Box").getMethods().stream()
            .filter(method -> method.getModifiers().contains(JavaModifier.PUBLIC))
            .toList();
    assertThat(open).hasSizeBetween(10, 15);
    assertThat(open).noneMatch(method -> parts.contains(method.getRawReturnType().getSimpleName()));
  }

  /** The sandbox and the scope of a box are there for commands, and for no other layer. */
  @Test
  void onlyExecsUseTheExecSite() {
    var users = new TreeSet<String>();
    for (JavaClass type : classes) {
      for (var dependency : type.getDirectDependenciesFromSelf()) {
        if (dependency.getTargetClass().getName().equals(ROOT + "box.ExecSite")) {
          users.add(packageOf(type));
        }
      }
    }
    assertThat(users).containsExactly("box", "exec");
  }

  /** So another backend is a package and a line of the registration. */
  @Test
  void onlyTheRegistrationNamesABackend() {
    assertThat(users(type -> packageOf(type).startsWith("backend.")))
        .containsExactly(ROOT + "engine.BackendRegistration");
  }

  /** A box of another backend may have no channel. */
  @Test
  void onlyBackendsSpeakWithInit() {
    var channel = Set.of("InitChannel", "InitQueries", "InitWire", "ForkserverSocket");
    assertThat(
            users(type -> packageOf(type).equals("init") && channel.contains(type.getSimpleName())))
        .isEmpty();
  }

  /** The classes outside of init and the backends that name one of these. */
  private static Set<String> users(Predicate<JavaClass> named) {
    var users = new TreeSet<String>();
    for (JavaClass type : classes) {
      boolean isInside = packageOf(type).startsWith("backend") || packageOf(type).equals("init");
      if (!isInside
          && type.getDirectDependenciesFromSelf().stream()
              .anyMatch(dependency -> named.test(dependency.getTargetClass()))) {
        users.add(type.getName());
      }
    }
    return users;
  }

  /** Built after this module, so there is only its text to look at. */
  @Test
  void theCommandLineObeysTheSameRules() throws IOException {
    var banned =
        Pattern.compile(
            "\\bProcessBuilder\\b|\\bProcess \\w+|\\.sleep\\(|parkNanos|java\\.lang\\.foreign");
    var offences = new ArrayList<String>();
    int files = 0;
    try (var sources = Files.walk(TestHost.root().resolve("cli/src/main/java"))) {
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).toList()) {
        files++;
        for (String line : Files.readAllLines(source)) {
          if (banned.matcher(line).find()) {
            offences.add(source.getFileName() + ": " + line.strip());
          }
        }
      }
    }
    assertThat(files).isGreaterThan(5);
    assertThat(offences).isEmpty();
  }

  // --- ARCHITECTURE.md ---

  /** A row of the table of layers: packages and the types it names in them. */
  private record Row(int number, List<String> packages, List<String> types) {
    private static final Pattern FORM = Pattern.compile("\\| (\\d+) \\| (.*?) \\| (.*) \\|");
    private static final Pattern CODE = Pattern.compile("`([\\w.]+)`");

    static List<Row> readAll() throws IOException {
      var rows = new ArrayList<Row>();
      for (String line : Files.readAllLines(TestHost.root().resolve("ARCHITECTURE.md"))) {
        var matcher = FORM.matcher(line);
        if (matcher.matches()) {
          rows.add(
              new Row(
                  Integer.parseInt(matcher.group(1)),
                  words(matcher.group(2)),
                  words(matcher.group(3)).stream()
                      .filter(word -> Character.isUpperCase(word.charAt(0)))
                      .toList()));
        }
      }
      return rows;
    }

    private static List<String> words(String cell) {
      return CODE.matcher(cell).results().map(found -> found.group(1)).toList();
    }
  }

  @Test
  void thePrintedTableIsTheOneHeldHere() throws IOException {
    var rows = Row.readAll();
    assertThat(rows.stream().map(Row::packages).toList()).isEqualTo(LAYERS);
    for (int i = 0; i < rows.size(); i++) {
      assertThat(rows.get(i).number()).isEqualTo(i + 1);
    }
  }

  @Test
  void thePrintedTableNamesTypesThatExist() throws IOException {
    for (Row row : Row.readAll()) {
      assertThat(row.types()).isNotEmpty();
      for (String type : row.types()) {
        assertThat(classes)
            .as(type)
            .anyMatch(
                each ->
                    each.getSimpleName().equals(type) && row.packages().contains(packageOf(each)));
      }
    }
  }
}
