package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.oracle.Invariant;
import dev.ebb.oracle.Trace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks a daemon's answers about an end: a repeated request succeeds, and its times do not change.
 * Each method returns what is wrong with the answer.
 */
final class Answers {
  private Answers() {}

  /** Stops a stopped box again. */
  static List<Trace> stopAgain(EbbClient client, String id, Duration grace) throws IOException {
    try {
      return requireClean(id, "a second stop", client.boxes().stop(id, grace).certificate());
    } catch (EbbException e) {
      return refused(id, "a second stop", e);
    }
  }

  /** Removes a removed box again: the daemon returns the certificate again, or removes it now. */
  static List<Trace> removeAgain(EbbClient client, String id) throws IOException {
    try {
      return requireClean(id, "a second removal", client.boxes().remove(id, true));
    } catch (EbbException e) {
      return refused(id, "a second removal", e);
    }
  }

  /** Kills a killed command again. */
  static List<Trace> killAgain(EbbClient client, Exec killed, Duration grace) throws IOException {
    Exec again = client.execs(killed.box()).kill(killed.number(), grace);
    String what = "a second kill of command %d".formatted(killed.number());
    return again.hasEnded()
        ? List.of()
        : List.of(broken(Invariant.I12, killed.box(), what + " does not end it"));
  }

  /** How a box came to its end, and how long that took, is known for as long as the box is. */
  static List<Trace> record(EbbClient client, Box stopped) throws IOException {
    Certificate reported = stopped.certificate();
    if (reported == null) {
      return List.of(broken(Invariant.I13, stopped.id(), "was stopped without a certificate"));
    }
    Certificate now = client.boxes().inspect(stopped.id()).certificate();
    boolean isSame =
        now != null
            && now.duration().equals(reported.duration())
            && now.released().equals(reported.released());
    String what = "was reported as \"%s\", and is now \"%s\"".formatted(reported, now);
    return isSame ? List.of() : List.of(broken(Invariant.I13, stopped.id(), what));
  }

  /** Nothing takes longer to end than {@code life}, the time since it was asked for. */
  static List<Trace> time(Certificate certificate, Duration life) {
    String what = "ended in %s, within %s".formatted(certificate.duration(), life);
    return certificate.duration().isNegative() || certificate.duration().compareTo(life) > 0
        ? List.of(broken(Invariant.I13, certificate.subject(), what))
        : List.of();
  }

  private static List<Trace> requireClean(
      String id, String what, @Nullable Certificate certificate) {
    return certificate != null && certificate.clean()
        ? List.of()
        : List.of(broken(Invariant.I12, id, what + " is not clean: " + certificate));
  }

  private static List<Trace> refused(String id, String what, EbbException e) {
    return List.of(broken(Invariant.I12, id, what + " is refused: " + e.getMessage()));
  }

  private static Trace broken(Invariant invariant, String id, String what) {
    return new Trace(invariant, "broken", id + " " + what, "box " + id + ": " + what);
  }
}
