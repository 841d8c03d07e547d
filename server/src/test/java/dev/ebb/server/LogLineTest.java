package dev.ebb.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.json.Json;
import java.time.Instant;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

/** The lines of the log. */
final class LogLineTest {
  private static final LogLine TEXT = new LogLine(LogLine.Form.TEXT);
  private static final LogLine JSON = new LogLine(LogLine.Form.JSON);

  private static LogRecord record(Level level, String message, Object... parameters) {
    var record = new LogRecord(level, message);
    record.setInstant(Instant.parse("2026-11-20T08:15:04.123456Z"));
    record.setLoggerName("some.Logger");
    record.setParameters(parameters);
    return record;
  }

  private static String text(String message, Object... parameters) {
    return TEXT.format(record(Level.INFO, message, parameters));
  }

  @Test
  void anEventIsOneLine() {
    assertThat(text("event=box_created box={0} tenant={1}", "b1", "acme"))
        .isEqualTo("2026-11-20T08:15:04.123Z INFO event=box_created box=b1 tenant=acme\n");
  }

  @Test
  void levelsHaveTheNamesOfTheDocument() {
    assertThat(TEXT.format(record(Level.SEVERE, "event=a"))).contains(" ERROR event=a");
    assertThat(TEXT.format(record(Level.WARNING, "event=a"))).contains(" WARNING event=a");
    assertThat(TEXT.format(record(Level.FINE, "event=a"))).contains(" DEBUG event=a");
    assertThat(TEXT.format(record(Level.FINER, "event=a"))).contains(" TRACE event=a");
  }

  @Test
  void aValueWithSpacesIsQuoted() {
    assertThat(text("event=recovered subject=/a b/c fate=\"removed it\" n=1"))
        .endsWith(" event=recovered subject=\"/a b/c\" fate=\"removed it\" n=1\n");
    assertThat(text("event=box_not_forgotten, trying again box=b1"))
        .endsWith(" event=box_not_forgotten note=\"trying again\" box=b1\n");
  }

  @Test
  void aMessageOfALibraryHasItsLogger() {
    assertThat(text("Started oejs.Server"))
        .endsWith(" event=log logger=some.Logger message=\"Started oejs.Server\"\n");
  }

  @Test
  void nothingBreaksALine() {
    assertThat(text("event=a name={0}", "x\nevent=b\r\u2028\u0085\u009b31m\ud800 end"))
        .endsWith(" event=a name=\"x\\nevent=b\\r???31m? end\"\n")
        .hasLineCount(1);
    assertThat(text("one\ntwo")).hasLineCount(1);
    assertThat(text("event=")).hasLineCount(1);
    assertThat(text("event=a b=\"open c=d")).hasLineCount(1).contains("event=a");
    assertThat(text("event=a event=b a=")).endsWith(" event=a a=\"\"\n");
  }

  @Test
  void anExceptionIsFoldedIntoItsLine() {
    var record = record(Level.SEVERE, "event=sweep_failed");
    record.setThrown(new IllegalStateException("one\ntwo", new Error("cause")));
    assertThat(TEXT.format(record))
        .hasLineCount(1)
        .contains(
            " event=sweep_failed error=\"java.lang.IllegalStateException: one\\ntwo\" trace=\"",
            " | at ",
            "LogLineTest.anExceptionIsFoldedIntoItsLine(",
            " | Caused by: java.lang.Error: cause | ");
  }

  @Test
  void aLineOfJsonIsAnObjectWithTheSameFields() throws Exception {
    var record = record(Level.WARNING, "event=swept kind=cgroup subject=\"/a b\"");
    record.setThrown(new IllegalStateException("two\nlines"));
    String line = JSON.format(record);
    assertThat(line).hasLineCount(1);
    var object = Json.readObject(line);
    assertThat(object.string("time")).isEqualTo("2026-11-20T08:15:04.123Z");
    assertThat(object.string("level")).isEqualTo("WARNING");
    assertThat(object.string("event")).isEqualTo("swept");
    assertThat(object.string("subject")).isEqualTo("/a b");
    assertThat(object.string("error")).contains("two\nlines");
    assertThat(Json.readObject(JSON.dropped(3)).string("writes")).isEqualTo("3");
  }
}
