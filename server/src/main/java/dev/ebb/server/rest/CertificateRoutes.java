package dev.ebb.server.rest;

import dev.ebb.server.answer.BoxAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Patience;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.BoxRelease;
import dev.ebb.server.service.Releases;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The release of boxes that were removed, or are being removed. */
final class CertificateRoutes {
  private static final String WAIT = "wait";

  /** Of a request that runs something in a box of its own. */
  static final Parameter<Optional<String>> OF_RUN =
      Parameter.text("certificate")
          .with("enum", List.of(WAIT))
          .described(
              "wait: answer when the box is released, with its certificate; otherwise it is"
                  + " released after the answer");

  private static final Parameter<Duration> PATIENCE =
      Parameter.millis("timeoutMillis", Duration.ZERO)
          .described("how long to wait for the end of the release; 0 unless given");

  private static final Operation GET =
      Operation.of("getCertificate", "How far the release of a box has come, and its certificate")
          .with(BoxRoutes.BOX, PATIENCE)
          .answers(200, "done", BoxAnswers.RELEASE_OF_BOX)
          .fails(Problem.Code.WRONG_STATE);

  private final BoxRegistry boxes;

  CertificateRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    return List.of(Route.of("GET", "/v1/certificates/{box}", this::get, GET));
  }

  /** Returns whether a request waits for the release of its box. */
  static boolean isAwaited(Exchange exchange) {
    Optional<String> word = exchange.get(OF_RUN);
    if (word.filter(text -> !text.equals(WAIT)).isPresent()) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"certificate\" is \"wait\" or absent, not " + word.get());
    }
    return word.isPresent();
  }

  private void get(Exchange exchange) throws IOException, InterruptedException {
    String word = exchange.get(BoxRoutes.BOX);
    Patience left = Patience.of(exchange.get(PATIENCE));
    Releases releases = boxes.releases();
    BoxRelease[] found = {releases.find(exchange.caller(), word)};
    LateAnswer.await(
        exchange,
        left,
        patience -> {
          found[0] = releases.await(exchange.caller(), word, patience);
          return found[0].state() != BoxRelease.State.PENDING;
        },
        () -> BoxAnswers.RELEASE_OF_BOX.write(found[0]));
  }
}
