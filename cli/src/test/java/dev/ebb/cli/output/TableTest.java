package dev.ebb.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TableTest {
  private static List<String> print(Table table) {
    var bytes = new ByteArrayOutputStream();
    table.print(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    return bytes.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void columnsAreAsWideAsTheirWidestCell() {
    var table = new Table("BOX", "NAME", "LAST");
    table.row("b1", "a longer name", 5);
    table.row("b0123456789ab", "grün😀", "");

    assertThat(print(table))
        .containsExactly(
            "BOX            NAME           LAST",
            "b1             a longer name  5",
            "b0123456789ab  grün😀");
  }

  @Test
  void noCellSpeaksToTheTerminal() {
    var table = new Table("COMMAND");
    table.row("evil\u001b[2J\nnext\u0007");

    assertThat(print(table)).containsExactly("COMMAND", "evil?[2J?next?");
  }

  @ParameterizedTest
  @CsvSource({
    "-5, 0s",
    "0, 0ms",
    "340, 340ms",
    "12999, 12s",
    "60000, 1m",
    "3599999, 59m",
    "3600000, 1h",
    "86400000, 1d",
    "900000000, 10d",
  })
  void durationsAreShort(long millis, String shown) {
    assertThat(Shown.duration(Duration.ofMillis(millis))).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({"0, 0B", "1023, 1023B", "1536, 1.5k", "12582912, 12.0m", "5497558138880, 5.0t"})
  void sizesAreShort(long bytes, String shown) {
    assertThat(Shown.size(bytes)).isEqualTo(shown);
  }

  @Test
  void aCommandIsShownAsOneWouldTypeIt() {
    assertThat(Shown.command(List.of("sh", "-c", "echo 'a b'", "")))
        .isEqualTo("sh -c 'echo '\\''a b'\\''' ''");
    assertThat(Shown.command(List.of("x".repeat(100)))).hasSize(60).endsWith("…");
  }
}
