package dev.ebb.chaos;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.Certificate;
import dev.ebb.supervision.Recovery;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Continues after failures in a life, and records what its caller was shown. */
final class Witness {
  private final List<String> told = new ArrayList<>();
  private final List<String> wrongs = new ArrayList<>();
  private boolean wasOpen;
  private boolean excused;

  /** Work that may fail. */
  interface Deed {
    void run() throws Exception;
  }

  /** Work that may fail, or return a value. */
  interface Making<T> {
    T make() throws Exception;
  }

  /** Returns every failure that the caller was shown, in order. */
  List<String> told() {
    return List.copyOf(told);
  }

  /** Reports a state that must never occur, whatever failed. */
  List<String> wrongs() {
    return List.copyOf(wrongs);
  }

  /** Returns whether a failure to close an engine, or a box that is left, was reported. */
  boolean isExcused() {
    return excused;
  }

  void excuse() {
    excused = true;
  }

  /** Prints a line for the parent of this JVM, in case this JVM dies. */
  static void say(String line) {
    System.out.println(line);
  }

  void attempt(Deed deed) {
    var _ =
        attemptTo(
            () -> {
              deed.run();
              return true;
            });
  }

  <T> Optional<T> attemptTo(Making<T> making) {
    try {
      return Optional.of(making.make());
    } catch (Exception e) {
      told.add(e.toString());
      return Optional.empty();
    } catch (AssertionError e) {
      wrongs.add(e.toString());
      return Optional.empty();
    }
  }

  /** Returns why work that must fail did fail. */
  String expectRefusal(Making<?> making) {
    int before = told.size();
    Optional<?> made = attemptTo(making);
    if (made.isPresent()) {
      throw new AssertionError("was not refused: " + made.get());
    }
    return told.get(before);
  }

  /** Opens an engine, if it can be, and closes it after {@code life}. */
  void withEngine(Making<Engine> opening, Life.Part life) {
    Optional<Engine> engine = attemptTo(opening);
    if (engine.isEmpty()) {
      // The next engine finds what the previous one left.
      excused |= wasOpen;
      return;
    }
    wasOpen = true;
    for (Recovery.Finding finding : engine.get().recovered()) {
      if (finding.fate() instanceof Recovery.Fate.Stuck) {
        told.add(finding.toString());
        excuse();
      }
    }
    attempt(() -> life.live(engine.get(), this));
    if (attemptTo(() -> closed(engine.get())).isEmpty()) {
      excuse();
    }
  }

  private static Engine closed(Engine engine) {
    engine.close();
    return engine;
  }

  /** Everything that is not released at first is released in the end. */
  void release(Engine engine, Box box) {
    for (int i = 0; i < 2; i++) {
      Optional<Certificate> certificate = attemptTo(() -> engine.release(box));
      if (certificate.filter(Certificate::isClean).isPresent()) {
        return;
      }
      certificate.ifPresent(unclean -> told.add(unclean.toString()));
    }
    wrongs.add("a box that cannot be released");
  }
}
