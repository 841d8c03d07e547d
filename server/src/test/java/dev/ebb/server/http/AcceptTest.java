package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The choice between JSON and events by the Accept header. */
final class AcceptTest {
  private static final String JSON = "application/json";
  private static final String EVENTS = "text/event-stream";

  private static String choice(String... values) {
    return Accept.of(List.of(values)).choose(JSON, EVENTS).orElse("406");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "application/json, text/event-stream | application/json",
        "text/event-stream, application/json | application/json",
        "text/event-stream | text/event-stream",
        "TEXT/Event-Stream | text/event-stream",
        "text/event-stream;charset=utf-8 | text/event-stream",
        "application/json;q=0.9, text/event-stream | text/event-stream",
        "application/json;q=0.9, text/event-stream;q=0.91 | text/event-stream",
        "application/json;q=1.000, text/event-stream;q=0.999 | application/json",
        "text/event-stream;q=0.1, application/json;q=0 | text/event-stream",
        "text/event-stream;q=0 | 406",
        "text/event-stream;q=0, */* | application/json",
        "application/json;q=0, */* | text/event-stream",
        "*/* | application/json",
        "*/*;q=0 | 406",
        "application/* | application/json",
        "text/* | text/event-stream",
        "text/*, */*;q=0.1 | text/event-stream",
        "text/event-stream, */* | text/event-stream",
        "application/json, text/plain, */* | application/json",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2 | application/json",
        "text/html, application/xhtml+xml, application/xml;q=0.9 | 406",
        "application/json-seq | 406",
        "x-application/json | 406",
      })
  void theChoiceIsByTypeAndQuality(String accept, String chosen) {
    assertThat(choice(accept)).isEqualTo(chosen);
  }

  @Test
  void everythingIsAcceptedByARequestThatDoesNotSay() {
    assertThat(choice()).isEqualTo(JSON);
    assertThat(choice("")).isEqualTo(JSON);
    assertThat(choice(" , ,")).isEqualTo(JSON);
  }

  @Test
  void severalHeadersAreOneList() {
    assertThat(choice("text/event-stream", "application/json")).isEqualTo(JSON);
    assertThat(choice("text/event-stream", "application/json;q=0.5")).isEqualTo(EVENTS);
  }

  @Test
  void aRangeThatCannotBeReadIsIgnored() {
    assertThat(choice("text/event-stream;q=2, text/html")).isEqualTo("406");
    assertThat(choice("text/event-stream;q=-1, application/json;q=0.1")).isEqualTo(JSON);
    assertThat(choice("text/event-stream;q=0.1234, application/json;q=0.1")).isEqualTo(JSON);
    assertThat(choice("*/event-stream, application/json;q=0.1")).isEqualTo(JSON);
    assertThat(choice("json", "text/", "/json", "a b/c", "q=1", "\"text/html", ";;"))
        .isEqualTo(JSON);
  }

  @Test
  void aCommaInQuotesSeparatesNothing() {
    assertThat(choice("text/html;x=\"a, text/event-stream;q=1\", application/json;q=0.1"))
        .isEqualTo(JSON);
    assertThat(choice("text/html;x=\"\\\", text/event-stream, \"")).isEqualTo("406");
  }

  @Test
  void theClosestRangeDecides() {
    var accept = Accept.of(List.of("text/*;q=0.3, text/event-stream;q=0, */*;q=0.1"));
    assertThat(accept.allows(EVENTS)).isFalse();
    assertThat(accept.allows("text/plain")).isTrue();
    assertThat(accept.choose(JSON, "text/plain")).contains("text/plain");
  }
}
