package dev.ebb.server.service;

import dev.ebb.model.Certificate;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;

/**
 * The release of a box, as far as it is known.
 *
 * @param box its id
 * @param at when it was answered, or has ended
 * @param certificate the latest; empty while the release goes on
 * @param isRecovered whether its daemon died first, and the next one released the remains
 */
public record BoxRelease(
    String box,
    String tenant,
    Optional<String> name,
    Instant at,
    Optional<Certificate> certificate,
    boolean isRecovered) {
  /** How far it has come. */
  public enum State {
    /** It goes on. */
    PENDING,
    /** The certificate is clean. */
    DONE,
    /** Something cannot be released: the certificate names it, and it is tried again. */
    STUCK;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public State state() {
    return certificate
        .map(proof -> proof.isClean() ? State.DONE : State.STUCK)
        .orElse(State.PENDING);
  }

  /** With the precision of records, so the next daemon tells the same time. */
  static Instant now() {
    return Instant.now().truncatedTo(ChronoUnit.MILLIS);
  }

  static BoxRelease of(TenantBox box, Optional<Certificate> certificate) {
    return new BoxRelease(box.id(), box.tenant(), box.order().name(), now(), certificate, false);
  }

  /** Returns this release as it was before it ended. */
  BoxRelease pending() {
    return new BoxRelease(box, tenant, name, at, Optional.empty(), isRecovered);
  }

  BoxRelease with(Certificate proof) {
    return new BoxRelease(box, tenant, name, now(), Optional.of(proof), isRecovered);
  }
}
