package dev.ebb.cli.caller;

import dev.ebb.cli.output.Plain;
import dev.ebb.engine.HomeTools;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.IntConsumer;

/**
 * The process that called a command. A command knows of the world only what its caller shows, so
 * that it runs alike in a process of its own and in a daemon, for a process elsewhere. Thread-safe.
 */
public abstract class Caller {
  /** The signals that ask a process to end. */
  public static final List<String> ENDING = List.of("INT", "TERM", "HUP");

  private final PrintStream ownOut;
  private final PrintStream ownErr;
  private final PrintStream out;
  private final PrintStream err;

  /** Prints to two streams, each in its encoding. */
  protected Caller(OutputStream out, Charset outCharset, OutputStream err, Charset errCharset) {
    ownOut = new PrintStream(out, true, outCharset);
    ownErr = new PrintStream(err, true, errCharset);
    this.out = Plain.printer(ownOut, outCharset);
    this.err = Plain.printer(ownErr, errCharset);
  }

  // --- surroundings ---

  /** True if the command runs in a daemon, and not in a process of its own. */
  public abstract boolean isInDaemon();

  public abstract Map<String, String> environment();

  /** The working directory. */
  protected abstract Path directory();

  /** A file that the caller names. */
  public abstract Path path(String text);

  public final Path absolutePath(String text) {
    return directory().resolve(text);
  }

  /** The home of Ebb, which need not exist. */
  public final Path home() {
    return HomeTools.home(environment());
  }

  /** The directory of the {@code ebb} script, if it is known. */
  public abstract Optional<Path> root();

  // --- streams ---

  /** Stdout as text, see {@link Plain}. */
  public final PrintStream out() {
    return out;
  }

  /** Stderr as text, see {@link Plain}. */
  public final PrintStream err() {
    return err;
  }

  /** Stdout, for what this program draws itself, without text from a box. */
  public final PrintStream ownOut() {
    out.flush();
    return ownOut;
  }

  /** Stderr, for what this program draws itself, without text from a box. */
  public final PrintStream ownErr() {
    err.flush();
    return ownErr;
  }

  /** Stdout, for the output of a command, unchanged; a flush fails if any of it was not written. */
  public abstract OutputStream rawOut();

  /** Stderr, for the output of a command, unchanged; a flush fails if any of it was not written. */
  public abstract OutputStream rawErr();

  public abstract InputStream in();

  // --- terminal ---

  public abstract boolean isTerminal(Terminal.Stream stream);

  /** The size of the terminal at stdout; empty if there is none, or it has no size. */
  public abstract Optional<Terminal.Size> terminalSize();

  /** Every key of the terminal at stdin is passed on as it is, until the scope closes. */
  public abstract void rawTerminal(Scope scope) throws KernelException, IOException;

  /** Calls the handler when the size of the terminal changes. */
  public abstract void onResize(Runnable handler);

  // --- processes ---

  /** Calls the handler with the number of a signal, which then has no other effect. */
  public abstract void onSignals(List<String> names, IntConsumer handler);

  /** Makes threads for work that the command's own thread waits for. */
  public abstract ThreadFactory threads();

  /** Runs a task beside the command; it ends with the command at the latest. */
  public abstract void inBackground(String name, Task task);

  /** Ends the command at once, from any thread of it. */
  public abstract void leave(int code);

  /** What runs in the background; its failure is that of its streams, which others report. */
  public interface Task {
    void run() throws IOException;
  }
}
