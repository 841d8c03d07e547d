package dev.ebb.server;

import java.util.Locale;
import java.util.Optional;
import java.util.logging.ConsoleHandler;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Stream;

/**
 * The log of the daemon, on stderr.
 *
 * @param least the lowest level that is logged
 */
record LogOutput(LogLine.Form form, Least least) {
  /** These fields keep the loggers and their levels alive. */
  private static final Logger ROOT = Logger.getLogger("");

  private static final Logger JETTY = Logger.getLogger("org.eclipse.jetty");
  private static final Logger JDK = Logger.getLogger("jdk");
  private static final Logger SUN = Logger.getLogger("sun");

  /** A level of {@link System.Logger}. */
  enum Least {
    DEBUG,
    INFO,
    WARNING,
    ERROR;

    private Level level() {
      return switch (this) {
        case DEBUG -> Level.FINE;
        case INFO -> Level.INFO;
        case WARNING -> Level.WARNING;
        case ERROR -> Level.SEVERE;
      };
    }
  }

  /** Finds a constant by its name in lower case; no name stands for the given default. */
  static <E extends Enum<E>> Optional<E> parse(E[] all, String word, E otherwise) {
    return word.isEmpty()
        ? Optional.of(otherwise)
        : Stream.of(all)
            .filter(each -> each.name().toLowerCase(Locale.ROOT).equals(word))
            .findFirst();
  }

  /** Installs it; called before anything is logged. */
  void install() {
    var lines = new LogLine(form);
    // ORDER: a handler keeps the stream that stderr is when the handler is made.
    QueuedStream.install(lines::dropped);
    for (var handler : ROOT.getHandlers()) {
      ROOT.removeHandler(handler);
    }
    var handler = new ConsoleHandler();
    handler.setFormatter(lines);
    handler.setLevel(Level.ALL);
    ROOT.addHandler(handler);
    ROOT.setLevel(least.level());
    Level others = least == Least.ERROR ? Level.SEVERE : Level.WARNING;
    JETTY.setLevel(others);
    JDK.setLevel(others);
    SUN.setLevel(others);
  }
}
