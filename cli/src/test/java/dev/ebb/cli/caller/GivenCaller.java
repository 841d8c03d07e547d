package dev.ebb.cli.caller;

import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.IntConsumer;

/** A caller in /work with some environment, and neither streams nor a terminal. */
public final class GivenCaller extends Caller {
  private final Map<String, String> environment;

  public GivenCaller(Map<String, String> environment) {
    super(
        OutputStream.nullOutputStream(),
        StandardCharsets.UTF_8,
        OutputStream.nullOutputStream(),
        StandardCharsets.UTF_8);
    this.environment = Map.copyOf(environment);
  }

  @Override
  public boolean isInDaemon() {
    return false;
  }

  @Override
  public Map<String, String> environment() {
    return environment;
  }

  @Override
  protected Path directory() {
    return Path.of("/work");
  }

  @Override
  public Path path(String text) {
    return absolutePath(text);
  }

  @Override
  public Optional<Path> root() {
    return Optional.empty();
  }

  @Override
  public OutputStream rawOut() {
    return OutputStream.nullOutputStream();
  }

  @Override
  public OutputStream rawErr() {
    return OutputStream.nullOutputStream();
  }

  @Override
  public InputStream in() {
    return InputStream.nullInputStream();
  }

  @Override
  public boolean isTerminal(Terminal.Stream stream) {
    return false;
  }

  @Override
  public Optional<Terminal.Size> terminalSize() {
    return Optional.empty();
  }

  @Override
  public void rawTerminal(Scope scope) {}

  @Override
  public void onResize(Runnable handler) {}

  @Override
  public void onSignals(List<String> names, IntConsumer handler) {}

  @Override
  public ThreadFactory threads() {
    return Thread::new;
  }

  @Override
  public void inBackground(String name, Task task) {}

  @Override
  public void leave(int code) {
    throw new AssertionError("left with " + code);
  }
}
