package dev.ebb.cli.caller;

import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.OwnOutput;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.IntConsumer;
import sun.misc.Signal;

/** This process itself, which was started for one command; the only class that touches it. */
public final class OwnProcess extends Caller {
  private final OwnOutput output;

  private OwnProcess(OwnOutput output) {
    super(
        new BufferedOutputStream(output),
        System.out.charset(),
        new FileOutputStream(FileDescriptor.err),
        System.err.charset());
    this.output = output;
  }

  public static OwnProcess open() {
    return new OwnProcess(new OwnOutput(new FileOutputStream(FileDescriptor.out)));
  }

  /** Ends this process; what could not be written is no success. */
  public void end(int code) {
    out().flush();
    Optional<IOException> failure = output.failure();
    failure.ifPresent(e -> err().println("ebb: " + OwnOutput.words(e)));
    // The reader of our stdin may be parked in a read for ever; nothing else is left to do.
    leave(failure.isPresent() ? ExitCode.OWN_FAILURE : code);
  }

  @Override
  public boolean isInDaemon() {
    return false;
  }

  @Override
  public Map<String, String> environment() {
    return System.getenv();
  }

  @Override
  protected Path directory() {
    return Path.of("").toAbsolutePath();
  }

  /** A relative path stays relative, as error messages quote it. */
  @Override
  public Path path(String text) {
    return Path.of(text);
  }

  @Override
  public Optional<Path> root() {
    return Optional.ofNullable(System.getProperty("ebb.root")).map(Path::of);
  }

  @Override
  public OutputStream rawOut() {
    return new FileOutputStream(FileDescriptor.out);
  }

  @Override
  public OutputStream rawErr() {
    return new FileOutputStream(FileDescriptor.err);
  }

  @Override
  public InputStream in() {
    return new FileInputStream(FileDescriptor.in);
  }

  @Override
  public boolean isTerminal(Terminal.Stream stream) {
    return Terminal.isAt(stream);
  }

  @Override
  public Optional<Terminal.Size> terminalSize() {
    return Terminal.size(Terminal.Stream.STDOUT);
  }

  @Override
  public void rawTerminal(Scope scope) throws KernelException {
    Terminal.raw(scope);
  }

  @Override
  public void onResize(Runnable handler) {
    Signal.handle(new Signal("WINCH"), _ -> handler.run());
  }

  @Override
  public void onSignals(List<String> names, IntConsumer handler) {
    for (String name : names) {
      Signal.handle(new Signal(name), signal -> handler.accept(signal.getNumber()));
    }
  }

  @Override
  public ThreadFactory threads() {
    return Thread::new;
  }

  /** The thread ends with the process, so it is not joined. */
  @Override
  public void inBackground(String name, Task task) {
    Thread.ofPlatform()
        .name(name)
        .daemon()
        .start(
            () -> {
              try {
                task.run();
              } catch (IOException e) {
                // It has ended, or reads no more; the command's own thread reports that.
              }
            });
  }

  @Override
  public void leave(int code) {
    Runtime.getRuntime().halt(code);
  }
}
