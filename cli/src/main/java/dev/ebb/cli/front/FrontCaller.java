package dev.ebb.cli.front;

import dev.ebb.cli.caller.Caller;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The process at the other end of a connection. All threads of its command are virtual: none reads
 * or writes anything but sockets.
 */
final class FrontCaller extends Caller {
  private static final Map<String, Integer> SIGNALS = Map.of("HUP", 1, "INT", 2, "TERM", 15);

  /** More signals that are handled at a time say nothing new. */
  private static final int SIGNALS_MOST = 8;

  private final FrontWire wire;
  private final Hello hello;
  private final Written written;
  private final FrontInput input;
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
  private final Map<Integer, IntConsumer> handlers = new ConcurrentHashMap<>();
  private final Semaphore signals = new Semaphore(SIGNALS_MOST);
  private final AtomicBoolean isOver = new AtomicBoolean();
  private volatile Optional<Terminal.Size> size;
  private volatile @Nullable Runnable resizeHandler;

  private FrontCaller(FrontWire wire, Hello hello, Written written, Charset charset) {
    super(
        new FrontOutput(wire, written, 1, false),
        charset,
        new FrontOutput(wire, written, 2, false),
        charset);
    this.wire = wire;
    this.hello = hello;
    this.written = written;
    input = new FrontInput(wire);
    size = hello.size();
  }

  static FrontCaller of(FrontWire wire, Hello hello, Charset charset) {
    return new FrontCaller(wire, hello, new Written(wire), charset);
  }

  static String text(byte[] content, int offset) {
    return new String(content, offset, content.length - offset, StandardCharsets.UTF_8);
  }

  // --- the front ---

  /** Takes a message, without waiting for anything. */
  void take(FrontWire.Message message) {
    byte[] content = message.content();
    switch (message.kind()) {
      case FrontProtocol.FRONT_INPUT, FrontProtocol.FRONT_UNREAD -> input.take(message);
      case FrontProtocol.FRONT_SIGNAL -> takeSignal(content.length == 1 ? content[0] : 0);
      case FrontProtocol.FRONT_SIZE -> takeSize(content);
      case FrontProtocol.FRONT_FAILED -> written.takeFailure(content);
      case FrontProtocol.FRONT_DONE -> written.takeDone(content);
      default -> {} // of a front that does not keep to the protocol
    }
  }

  private void takeSignal(int number) {
    IntConsumer handler = handlers.get(number);
    if (handler == null || !signals.tryAcquire()) {
      return;
    }
    start(
        "ebb-front-signal",
        () -> {
          try {
            handler.accept(number);
          } finally {
            signals.release();
          }
        });
  }

  private void takeSize(byte[] content) {
    if (content.length == 4) {
      ByteBuffer numbers = ByteBuffer.wrap(content);
      size = Hello.size(numbers.getShort() & 0xffff, numbers.getShort() & 0xffff);
      Runnable handler = resizeHandler;
      if (handler != null) {
        start("ebb-front-size", handler);
      }
    }
  }

  /** Runs a task in a thread that ends with the front. */
  void start(String name, Runnable task) {
    Thread thread =
        Thread.ofVirtual()
            .name(name)
            .unstarted(
                () -> {
                  try {
                    task.run();
                  } finally {
                    threads.remove(Thread.currentThread());
                  }
                });
    threads.add(thread);
    thread.start();
    if (isOver.get()) {
      // RACE: it was started while the others were interrupted.
      thread.interrupt();
    }
  }

  /** Sends the exit code, unless the command was ended before. */
  void end(int code) {
    out().flush();
    err().flush();
    if (isOver.compareAndSet(false, true)) {
      try {
        wire.send(FrontProtocol.DAEMON_EXIT, (byte) code);
      } catch (IOException e) {
        // The front has gone, and asks for no code.
      }
    }
  }

  /** Ends all threads of the command; returns false if some remain after the patience. */
  boolean abandon(Duration patience) throws InterruptedException {
    isOver.set(true);
    interruptOthers();
    long deadline = System.nanoTime() + patience.toNanos();
    for (Thread thread : threads) {
      thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
    }
    return threads.isEmpty();
  }

  private void interruptOthers() {
    for (Thread thread : threads) {
      if (!thread.equals(Thread.currentThread())) {
        thread.interrupt();
      }
    }
  }

  // --- what commands see ---

  @Override
  public boolean isInDaemon() {
    return true;
  }

  @Override
  public Map<String, String> environment() {
    return hello.environment();
  }

  @Override
  protected Path directory() {
    return hello.directory();
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
    return new FrontOutput(wire, written, 1, true);
  }

  @Override
  public OutputStream rawErr() {
    return new FrontOutput(wire, written, 2, true);
  }

  @Override
  public InputStream in() {
    return input;
  }

  @Override
  public boolean isTerminal(Terminal.Stream stream) {
    int bit =
        switch (stream) {
          case STDIN -> 1;
          case STDOUT -> 2;
          case STDERR -> 4;
        };
    return (hello.terminals() & bit) != 0;
  }

  @Override
  public Optional<Terminal.Size> terminalSize() {
    return size;
  }

  @Override
  public void rawTerminal(Scope scope) throws KernelException, IOException {
    // ORDER: owned before it is changed, so that it is restored in any case.
    scope.own(this::restoreTerminal);
    written.ask(FrontProtocol.DAEMON_RAW, (byte) 1);
  }

  private void restoreTerminal() {
    try {
      wire.send(FrontProtocol.DAEMON_RAW, (byte) 0);
    } catch (IOException e) {
      // The front has gone, and restored it.
    }
  }

  @Override
  public void onResize(Runnable handler) {
    resizeHandler = handler;
  }

  @Override
  public void onSignals(List<String> names, IntConsumer handler) {
    names.forEach(name -> handlers.put(SIGNALS.getOrDefault(name, 0), handler));
    int mask = 0;
    for (int number : handlers.keySet()) {
      mask |= 1 << number;
    }
    try {
      wire.sendNumber(FrontProtocol.DAEMON_CATCH, mask);
    } catch (IOException e) {
      // The front has gone: its thread ends the command.
    }
  }

  @Override
  public ThreadFactory threads() {
    return Thread.ofVirtual().factory();
  }

  @Override
  public void inBackground(String name, Task task) {
    start(
        name,
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
    end(code);
    interruptOthers();
  }
}
