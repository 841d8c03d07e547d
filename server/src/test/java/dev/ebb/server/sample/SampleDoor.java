package dev.ebb.server.sample;

import dev.ebb.server.http.Asked;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.ErrorForm;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.KeyPlace;
import dev.ebb.server.http.Mount;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.Role;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;

/** All that a door can be, in one: a protocol that echoes and counts. */
final class SampleDoor implements Door {
  /** A secret that the door gave out itself, for the tenant {@code guest}. */
  static final String LOGIN = "login-1";

  /** One entry for each number that may be sent. */
  private final Semaphore numbers;

  SampleDoor(Semaphore numbers) {
    this.numbers = numbers;
  }

  @Override
  public String name() {
    return "sample";
  }

  @Override
  public Set<Mount> mounts() {
    return Set.of(Mount.at("/sample"), Mount.host("*.boxes.test"));
  }

  @Override
  public KeyPlace key() {
    return KeyPlace.header("X-API-Key").or(KeyPlace.query("token"));
  }

  @Override
  public Optional<Caller> vouched(Asked asked) {
    return asked.cookie("sample").filter(LOGIN::equals).map(_ -> new Caller("guest", Role.USER));
  }

  @Override
  public boolean acceptsHost(Asked asked) {
    return asked.host().equals("sample.test");
  }

  @Override
  public boolean acceptsOrigin(String origin, Asked asked) {
    return origin.equals("https://pages.test");
  }

  /** Short, as its clients know it; a refused key is 403 for them. */
  @Override
  public ErrorForm errors() {
    return (problem, asked) -> {
      int status = problem.code() == Problem.Code.UNAUTHORIZED ? 403 : problem.status();
      var error = Map.of("code", status, "message", String.valueOf(problem.getMessage()));
      var headers = Map.of("X-Sample-Path", String.join("/", asked.path()));
      return new ErrorForm.Answer(
          status, "application/json", Exchange.json(Map.of("error", error)), headers);
    };
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.open("GET", "/sample/health", Exchange::done),
        Route.of("POST", "/sample/echo/{name}", SampleDoor::echo),
        Route.of("GET", "/sample/count", this::count, "to"),
        Route.of("GET", "/where", exchange -> exchange.answer(200, Map.of("door", name()))));
  }

  private static void echo(Exchange exchange) throws IOException {
    Fields fields = exchange.fields();
    String text =
        fields
            .text("text")
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"text\" is missing"));
    fields.end();
    exchange.answer(
        200,
        Map.of("name", exchange.path("name"), "text", text, "tenant", exchange.caller().tenant()));
  }

  /** Each number is on its way before the next one is known. */
  private void count(Exchange exchange) throws IOException, InterruptedException {
    long last = exchange.number("to", 3, 100);
    try (OutputStream out = exchange.stream(200, "application/x-ndjson")) {
      for (long i = 1; i <= last; i++) {
        numbers.acquire();
        out.write((i + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
      }
    }
  }
}
