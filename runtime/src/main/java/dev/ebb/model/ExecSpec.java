package dev.ebb.model;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A command to run, and its limits.
 *
 * @param timeout wall time; zero for none
 * @param grace between SIGTERM and SIGKILL; zero for at once
 * @param outputLimit of stdout and stderr together
 * @param takesInput false: stdin is /dev/null
 * @param keep leave daemonised children alive, and list them, when the command ends
 * @param kind whether it has a terminal, or is no command at all
 * @param operator whether it runs outside the limits of other commands, within small ones of its
 *     own
 */
public record ExecSpec(
    List<String> command,
    Map<String, String> environment,
    String workdir,
    Duration timeout,
    Duration grace,
    ByteSize outputLimit,
    int openFiles,
    ByteSize fileSize,
    boolean takesInput,
    boolean keep,
    ExecKind kind,
    boolean operator) {

  /** How many characters of an ended command are kept. */
  private static final int REMEMBERED_MOST = 4096;

  public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(5);
  public static final Duration DEFAULT_GRACE = Duration.ofSeconds(5);
  public static final ByteSize DEFAULT_OUTPUT_LIMIT = ByteSize.mebibytes(16);
  public static final int DEFAULT_OPEN_FILES = 1024;
  public static final ByteSize DEFAULT_FILE_SIZE = ByteSize.mebibytes(256);

  public ExecSpec {
    command = List.copyOf(command);
    environment = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(environment));
    require(!command.isEmpty() && !command.getFirst().isEmpty(), "no command given");
    command.forEach(word -> requireNoNul(word, "the command"));
    environment.forEach(ExecSpec::checkVariable);
    requireNoNul(workdir, "the working directory");
    require(workdir.startsWith("/"), "working directory \"" + workdir + "\" is not absolute");
    require(!timeout.isNegative() && !grace.isNegative(), "a duration cannot be negative");
    require(openFiles >= 3, "open files must be at least 3");
  }

  public static ExecSpec of(String... command) {
    return of(List.of(command));
  }

  public static ExecSpec of(List<String> command) {
    return new ExecSpec(
        command,
        Map.of(),
        BoxPaths.WORKSPACE,
        DEFAULT_TIMEOUT,
        DEFAULT_GRACE,
        DEFAULT_OUTPUT_LIMIT,
        DEFAULT_OPEN_FILES,
        DEFAULT_FILE_SIZE,
        false,
        false,
        ExecKind.COMMAND,
        false);
  }

  private static void checkVariable(String name, String value) {
    requireNoNul(name, "the environment");
    requireNoNul(value, "the environment");
    require(!name.isEmpty() && name.indexOf('=') < 0, "bad environment variable \"" + name + "\"");
  }

  private static void requireNoNul(String text, String where) {
    require(text.indexOf('\0') < 0, where + " holds a NUL character");
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, message);
    }
  }

  public ExecSpec withEnvironment(Map<String, String> changed) {
    return copy(copy -> copy.environment = changed);
  }

  public ExecSpec withWorkdir(String changed) {
    return copy(copy -> copy.workdir = changed);
  }

  public ExecSpec withTimeout(Duration changed) {
    return copy(copy -> copy.timeout = changed);
  }

  public ExecSpec withGrace(Duration changed) {
    return copy(copy -> copy.grace = changed);
  }

  public ExecSpec withOutputLimit(ByteSize changed) {
    return copy(copy -> copy.outputLimit = changed);
  }

  public ExecSpec withOpenFiles(int changed) {
    return copy(copy -> copy.openFiles = changed);
  }

  public ExecSpec withFileSize(ByteSize changed) {
    return copy(copy -> copy.fileSize = changed);
  }

  public ExecSpec withInput() {
    return copy(copy -> copy.takesInput = true);
  }

  public ExecSpec withKeep() {
    return copy(copy -> copy.keep = true);
  }

  /** Returns a copy that runs in a terminal, which takes input. */
  public ExecSpec withTerminal(int rows, int columns) {
    var terminal = terminal(rows, columns);
    return copy(
        copy -> {
          copy.takesInput = true;
          copy.kind = terminal;
        });
  }

  /** Returns a copy that resumes the first command of a zygote's box instead of executing one. */
  public ExecSpec withResumption() {
    return copy(copy -> copy.kind = new ExecKind.Resumption());
  }

  /** Returns a copy whose end lists what is in the workspace. */
  public ExecSpec withLook() {
    return copy(copy -> copy.kind = new ExecKind.Program());
  }

  /** Returns a copy that takes orders over a socket of its own. */
  public ExecSpec withDialogue() {
    return copy(
        copy -> {
          copy.takesInput = true;
          copy.kind = new ExecKind.Dialogue();
        });
  }

  /** Returns a copy that runs even where others have used up the limits of the box. */
  public ExecSpec withOperator() {
    return copy(copy -> copy.operator = true);
  }

  /**
   * Returns what is kept of an ended command: the beginning of its words, and nothing of its
   * environment.
   */
  public ExecSpec ended() {
    return copy(
        copy -> {
          copy.command = beginning(command);
          copy.environment = Map.of();
          copy.workdir = beginning(workdir, REMEMBERED_MOST);
        });
  }

  private static List<String> beginning(List<String> words) {
    var first = new ArrayList<String>();
    int left = REMEMBERED_MOST;
    for (String word : words) {
      if (left <= 0) {
        first.add("…");
        break;
      }
      first.add(beginning(word, left));
      left -= word.length() + 1;
    }
    return first;
  }

  private static String beginning(String text, int most) {
    return text.length() <= most ? text : text.substring(0, most) + "…";
  }

  private ExecSpec copy(Consumer<Copy> change) {
    var copy = new Copy(this);
    change.accept(copy);
    return copy.spec();
  }

  /** A mutable copy, from which the next spec is made. */
  private static final class Copy {
    private List<String> command;
    private Map<String, String> environment;
    private String workdir;
    private Duration timeout;
    private Duration grace;
    private ByteSize outputLimit;
    private int openFiles;
    private ByteSize fileSize;
    private boolean takesInput;
    private boolean keep;
    private ExecKind kind;
    private boolean operator;

    private Copy(ExecSpec spec) {
      command = spec.command;
      environment = spec.environment;
      workdir = spec.workdir;
      timeout = spec.timeout;
      grace = spec.grace;
      outputLimit = spec.outputLimit;
      openFiles = spec.openFiles;
      fileSize = spec.fileSize;
      takesInput = spec.takesInput;
      keep = spec.keep;
      kind = spec.kind;
      operator = spec.operator;
    }

    private ExecSpec spec() {
      return new ExecSpec(
          command,
          environment,
          workdir,
          timeout,
          grace,
          outputLimit,
          openFiles,
          fileSize,
          takesInput,
          keep,
          kind,
          operator);
    }
  }

  public static ExecKind.Terminal terminal(int rows, int columns) {
    require(
        ExecKind.Terminal.isSize(rows, columns),
        "a terminal cannot have " + rows + " rows and " + columns + " columns");
    return new ExecKind.Terminal(rows, columns);
  }
}
