package dev.ebb.testkit;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Captures, and hides, what is logged through {@code System.Logger} while this is open. */
public final class LogCapture implements AutoCloseable {
  private final Logger logger;
  private final Handler handler = new Collector();
  private final List<String> lines = new CopyOnWriteArrayList<>();

  /** Captures the log of one class. */
  public LogCapture(Class<?> type) {
    this(type.getName());
  }

  /** Captures the logs of a package and all below it. */
  public LogCapture(String name) {
    logger = Logger.getLogger(name);
    logger.setUseParentHandlers(false);
    logger.addHandler(handler);
  }

  /** Level and message of each, and the exception that came with it. */
  public List<String> lines() {
    return List.copyOf(lines);
  }

  @Override
  public void close() {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }

  private final class Collector extends Handler {
    private final SimpleFormatter formatter = new SimpleFormatter();

    @Override
    public void publish(LogRecord record) {
      String thrown = record.getThrown() == null ? "" : " " + record.getThrown();
      lines.add(record.getLevel() + " " + formatter.formatMessage(record) + thrown);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
