package dev.ebb.client.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerSentEventsTest {
  private static List<ServerSentEvents.Event> read(String text) throws IOException {
    var list = new ArrayList<ServerSentEvents.Event>();
    try (var events = new ServerSentEvents(new ByteArrayInputStream(text.getBytes(UTF_8)))) {
      for (var next = events.next(); next.isPresent(); next = events.next()) {
        list.add(next.get());
      }
    }
    return list;
  }

  @ParameterizedTest
  @ValueSource(strings = {"\n", "\r\n", "\r"})
  void eventsEndWithAnEmptyLine(String end) throws IOException {
    String text = ": hello|event: a|id: 1|data: x|data:y||event: b|data||retry: 9||data: cut";

    assertThat(read(text.replace("|", end)))
        .containsExactly(
            new ServerSentEvents.Event("a", "1", "x\ny"), new ServerSentEvents.Event("b", "1", ""));
  }

  @Test
  void anEventWithoutAnEndIsGivenUp() throws IOException {
    var endless =
        new InputStream() {
          @Override
          public int read() {
            return 'x';
          }

          @Override
          public int read(byte[] buffer, int offset, int length) {
            java.util.Arrays.fill(buffer, offset, offset + length, (byte) 'x');
            return length;
          }
        };
    try (var events = new ServerSentEvents(endless)) {
      assertThatThrownBy(events::next).hasMessageContaining("an event of more than");
    }
  }
}
