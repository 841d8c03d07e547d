package dev.ebb.pool;

import dev.ebb.backend.Zygote;
import dev.ebb.exec.Environment;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.BoxText;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Network;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A program that can be started before its code is known. A small runner, a resource beside this
 * class, waits for an order on stdin and then does what the command would have done.
 */
public enum Interpreter {
  PYTHON("python3", "-c", "python.py", 10) {
    // A program in a file works, too; any other option is handled only by python itself.
    @Override
    boolean reads(List<String> command) {
      return command.get(1).equals("-c")
          ? command.size() > 2
          : SCRIPT.matcher(command.get(1)).matches();
    }
  },
  NODE("node", "-e", "node.js", 48) {
    // Options are handled only by node itself, which also runs some code as a module or with a
    // wrapper.
    @Override
    boolean reads(List<String> command) {
      return NODE_SCRIPT.matcher(command.get(1)).matches()
          || (command.size() > 2
              && command.get(1).equals("-e")
              && command.stream().skip(2).limit(2).noneMatch(word -> word.startsWith("-"))
              && !NODE_ONLY.matcher(command.get(2)).find());
    }
  };

  /** A file beside it: what else python runs, a directory or an archive, it finds out by itself. */
  private static final Pattern SCRIPT = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]*\\.py");

  private static final Pattern NODE_SCRIPT =
      Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_.-]*\\.[cm]?js");

  /** The environment variable with the same effect, for an interpreter that has started. */
  private static final String NO_BYTECODE = "PYTHONDONTWRITEBYTECODE";

  private static final Pattern NODE_ONLY = Pattern.compile("\\b(import|export|await|crypto)\\b");

  /**
   * Python keeps what it made of a program to compile it until that ends, and a copy would have to
   * free its own copy of it then. So its program is this.
   */
  private static final String RUN_NEXT =
      "exec(compile(__import__('sys').argv.pop(1), '<string>', 'exec'))";

  /** The name of the runner's process while it waits. */
  static final String WAITING = "ebb-waiting";

  private static final ByteSize ANY_SIZE = new ByteSize(Long.MAX_VALUE);

  /** Variables that the loader, the C library or an interpreter reads once, at its start. */
  private static final Set<String> EARLY =
      Set.of(
          "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "GLIBC_TUNABLES", "LOCPATH", "SSLKEYLOGFILE");

  private static final List<String> EARLY_PREFIXES =
      List.of("LD_", "LC_", "MALLOC_", "PYTHON", "OPENSSL_", "NODE_", "UV_", "ICU_", "SSL_");

  private final String program;
  private final String option;
  private final String runner;
  private final int mebibytes;

  Interpreter(String program, String option, String resource, int mebibytes) {
    this.program = program;
    this.option = option;
    this.mebibytes = mebibytes;
    runner = read(resource);
  }

  static String read(String resource) {
    try (InputStream in = Interpreter.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " is missing from the runtime's jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns its name in a command. */
  public String wireName() {
    return program;
  }

  /** Returns the memory of a box in which it waits. */
  ByteSize weight() {
    return ByteSize.mebibytes(mebibytes);
  }

  public static Optional<Interpreter> parse(String word) {
    return Stream.of(values()).filter(each -> each.program.equals(word)).findFirst();
  }

  /**
   * Returns the interpreter that {@code spec} calls with code or a file, if the runner supports it.
   */
  static Optional<Interpreter> of(ExecSpec spec, boolean preloads) {
    List<String> command = spec.command();
    return command.size() < 2
        ? Optional.empty()
        : parse(command.getFirst())
            .filter(each -> each.reads(command))
            .filter(each -> each.canRun(spec, preloads));
  }

  /** Returns whether the runner handles {@code command} like the program itself. */
  abstract boolean reads(List<String> command);

  private boolean canRun(ExecSpec spec, boolean preloads) {
    return (spec.kind() instanceof ExecKind.Command || spec.kind() instanceof ExecKind.Program)
        && !spec.operator()
        && spec.workdir().equals(BoxPaths.WORKSPACE)
        && spec.environment().keySet().stream().noneMatch(name -> isRead(name, preloads));
  }

  /**
   * Returns whether it has read a variable already; modules imported in advance may have read any.
   */
  private boolean isRead(String name, boolean preloads) {
    boolean isPython = this == PYTHON;
    return !(isPython && name.equals(NO_BYTECODE)) && (isEarly(name) || (preloads && isPython));
  }

  private static boolean isEarly(String name) {
    return EARLY.contains(name) || EARLY_PREFIXES.stream().anyMatch(name::startsWith);
  }

  /**
   * Returns a zygote: an interpreter that has started and imported common modules, to be copied.
   */
  Zygote zygote(List<String> preload) {
    return new Zygote(
        command(Zygote.ROLE, preload),
        Environment.lines(Map.of(), 0, ExecKind.COMMAND, Network.NONE));
  }

  private List<String> command(String role, List<String> preload) {
    var command = new ArrayList<>(List.of(program, option, RUN_NEXT, runner, role));
    command.addAll(preload);
    return command;
  }

  /** Returns the command to start in advance: without limits, which can only be lowered later. */
  ExecSpec waiting(List<String> preload) {
    return ExecSpec.of(
            this == PYTHON ? command("alone", preload) : List.of(program, option, runner))
        .withTimeout(Duration.ZERO)
        .withGrace(Duration.ZERO)
        .withOpenFiles(Integer.MAX_VALUE)
        .withFileSize(ANY_SIZE)
        .withInput();
  }

  /** Encodes the order for the runner: a size, then strings separated by NUL. */
  static byte[] order(ExecSpec spec, Network network) {
    var words = new ArrayList<String>();
    words.add(spec.takesInput() ? "input" : "");
    words.add(Integer.toString(spec.command().size() - 1));
    words.addAll(spec.command().subList(1, spec.command().size()));
    var environment = new LinkedHashMap<>(Environment.proxy(network));
    environment.putAll(spec.environment());
    environment.forEach((name, value) -> words.add(name + "=" + value));
    byte[] text = BoxText.encode(String.join("\0", words));
    return ByteBuffer.allocate(Integer.BYTES + text.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(text.length)
        .put(text)
        .array();
  }
}
