package dev.ebb.testkit;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/** The main classes of a module, and how they break the rules. Read once for each JVM. */
final class ModuleClasses {
  private static final Map<String, ModuleClasses> READ = new ConcurrentHashMap<>();

  private static final Set<String> JDK = Set.of("java", "javax", "jdk", "com.sun", "sun.misc");
  private static final Set<String> ANNOTATIONS =
      Set.of("org.jspecify.annotations", "com.google.errorprone.annotations");

  private static final Set<String> PROCESSES =
      Set.of("java.lang.Process", "java.lang.ProcessBuilder");
  private static final Set<String> SLEEPERS =
      Set.of(
          "java.lang.Thread",
          "java.util.concurrent.TimeUnit",
          "java.util.concurrent.locks.LockSupport");
  private static final Set<String> SLEEPS = Set.of("sleep", "parkNanos", "parkUntil");

  /** Its streams, environment, working directory, signals, terminal and end. */
  private static final Map<String, Set<String>> OF_THIS_PROCESS =
      Map.of(
          "java.lang.System",
          Set.of("in", "out", "err", "setIn", "setOut", "setErr", "getenv", "exit"),
          "java.io.FileDescriptor",
          Set.of("in", "out", "err"),
          "java.lang.Runtime",
          Set.of("exit", "halt", "addShutdownHook"),
          "java.nio.file.Path",
          Set.of("toAbsolutePath"),
          "sun.misc.Signal",
          Set.of("handle", "raise"),
          "dev.ebb.kernel.Terminal",
          Set.of("isAt", "size", "raw"),
          "dev.ebb.engine.HomeTools",
          Set.of("defaultHome"));

  private final JavaClasses classes;

  private ModuleClasses(JavaClasses classes) {
    this.classes = classes;
  }

  /** Those of the module in a directory of the clone. */
  static ModuleClasses of(String module) {
    return READ.computeIfAbsent(
        module, name -> at(TestHost.root().resolve(name).resolve("target/classes")));
  }

  /** Those in a directory. */
  static ModuleClasses at(Path directory) {
    return new ModuleClasses(new ClassFileImporter().importPath(directory));
  }

  int count() {
    return classes.size();
  }

  Set<String> packages() {
    return classes.stream()
        .map(JavaClass::getPackageName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Uses of a package by one that comes before it. */
  List<String> usesAgainst(List<String> order) {
    return uses(
        (type, used) ->
            order.indexOf(used.getPackageName()) > order.indexOf(type.getPackageName()));
  }

  /** Uses of one of these packages by another one of them. */
  List<String> usesAmong(Set<String> apart) {
    return uses(
        (type, used) ->
            !type.getPackageName().equals(used.getPackageName())
                && apart.contains(type.getPackageName())
                && apart.contains(used.getPackageName()));
  }

  /** Uses of what is neither the JDK's, nor of this module, nor allowed. */
  List<String> usesBeside(Set<String> modules, Set<String> libraries) {
    var exact = new HashSet<String>(packages());
    String user = user();
    modules.forEach(module -> exact.addAll(exportsOf(module, user)));
    return uses(
        (type, used) -> {
          String name = used.getPackageName();
          return !used.isPrimitive()
              && !exact.contains(name)
              && !isBelow(name, JDK)
              && !isBelow(name, ANNOTATIONS)
              && !isBelow(name, libraries);
        });
  }

  /** The name of this module, by which others export to it: that of its outermost package. */
  private String user() {
    return packages().iterator().next();
  }

  private static Set<String> exportsOf(String module, String user) {
    var path = TestHost.root().resolve(module).resolve("target/classes");
    return ModuleFinder.of(path).findAll().iterator().next().descriptor().exports().stream()
        .filter(exports -> !exports.isQualified() || exports.targets().contains(user))
        .map(Exports::source)
        .collect(Collectors.toSet());
  }

  private static boolean isBelow(String name, Collection<String> parents) {
    return parents.stream()
        .anyMatch(parent -> name.equals(parent) || name.startsWith(parent + "."));
  }

  Set<String> packagesWithoutNullMarked() {
    return classes.stream()
        .filter(type -> !type.getPackage().isAnnotatedWith("org.jspecify.annotations.NullMarked"))
        .map(JavaClass::getPackageName)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  List<String> usesOfProcesses() {
    return uses((type, used) -> PROCESSES.contains(used.getName()));
  }

  List<String> usesOfNativeCode() {
    return uses((type, used) -> used.getPackageName().equals("java.lang.foreign"));
  }

  List<String> sleeps() {
    return classes.stream()
        .flatMap(type -> type.getMethodCallsFromSelf().stream())
        .filter(call -> SLEEPS.contains(call.getName()))
        .filter(call -> SLEEPERS.contains(call.getTargetOwner().getName()))
        .map(call -> call.getDescription())
        .toList();
  }

  /** Uses of what belongs to this process alone, by classes other than {@code except}. */
  List<String> usesOfThisProcess(Set<String> except) {
    return classes.stream()
        .filter(type -> !except.contains(type.getName()))
        .flatMap(type -> type.getAccessesFromSelf().stream())
        .filter(
            use ->
                OF_THIS_PROCESS
                    .getOrDefault(use.getTargetOwner().getName(), Set.of())
                    .contains(use.getName()))
        .map(use -> use.getDescription())
        .toList();
  }

  private List<String> uses(BiPredicate<JavaClass, JavaClass> isWrong) {
    return classes.stream()
        .flatMap(type -> type.getDirectDependenciesFromSelf().stream())
        .filter(
            use -> isWrong.test(use.getOriginClass(), use.getTargetClass().getBaseComponentType()))
        .map(Dependency::getDescription)
        .toList();
  }
}
