package dev.ebb.server.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.code.Languages;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Limits;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.service.access.Caps;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OrdersTest {
  private static final ByteSize SMALL = ByteSize.mebibytes(8);
  private static final Caps CAPS =
      new Caps(SMALL, 9, 0.5, SMALL, SMALL, 64, SMALL, Duration.ofSeconds(3), Duration.ofHours(1));

  private static Fields parse(String text) {
    return Fields.parse(text.replace('\'', '"').getBytes(StandardCharsets.UTF_8));
  }

  private static ExecSpec command(String fields, Duration otherwise, Caps caps) {
    return CommandOrders.command(parse("{'command':['a']" + fields + "}"), otherwise, caps).spec();
  }

  @Test
  void withoutCapsTheDefaultsHold() {
    var order = Orders.box(parse("{}"), Caps.NONE).order();
    assertThat(order.spec().limits()).isEqualTo(Limits.defaults());
    assertThat(order.ttl()).isEmpty();
    assertThat(command("", Duration.ZERO, Caps.NONE))
        .isEqualTo(ExecSpec.of("a").withTimeout(Duration.ZERO));
    assertThat(command("", Duration.ofSeconds(60), Caps.NONE).timeout()).hasSeconds(60);
    assertThat(command(",'terminal':{}", Duration.ofSeconds(60), Caps.NONE).timeout()).isZero();
  }

  @Test
  void aBoxMayNameItsBackend() {
    var order = Orders.box(parse("{'backend':'bubblewrap'}"), Caps.NONE).order();
    assertThat(order.spec().backend()).contains("bubblewrap");
    assertThat(Orders.box(parse("{}"), Caps.NONE).order().spec().backend()).isEmpty();
  }

  @Test
  void aDefaultAboveTheCapIsTheCap() {
    var order = Orders.box(parse("{}"), CAPS).order();
    assertThat(order.spec().limits())
        .isEqualTo(new Limits(SMALL, 9, 0.5, SMALL, Limits.defaults().temporary()));
    assertThat(order.ttl()).hasValue(Duration.ofHours(1));
    for (Duration otherwise : new Duration[] {Duration.ZERO, Duration.ofSeconds(60)}) {
      ExecSpec spec = command("", otherwise, CAPS);
      assertThat(spec.timeout()).hasSeconds(3);
      assertThat(spec.grace()).hasSeconds(3);
      assertThat(spec.outputLimit()).isEqualTo(SMALL);
      assertThat(spec.openFiles()).isEqualTo(64);
      assertThat(spec.fileSize()).isEqualTo(SMALL);
    }
    assertThat(command("", Duration.ofSeconds(2), CAPS).timeout()).hasSeconds(2);
  }

  @Test
  void theCapItselfMayBeAskedFor() {
    String limits = "{'memoryBytes':8388608,'pids':9,'cpus':0.5,'diskBytes':8388608}";
    var order = Orders.box(parse("{'ttlMillis':3600000,'limits':" + limits + "}"), CAPS).order();
    assertThat(order.ttl()).hasValue(Duration.ofHours(1));
    assertThat(command(",'timeoutMillis':3000,'graceMillis':3000", Duration.ZERO, CAPS).grace())
        .hasSeconds(3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          limits.memoryBytes | 8388609 | 8388608
          limits.pids        | 10      | 9
          limits.cpus        | 0.51    | 0.5
          limits.diskBytes   | 8388609 | 8388608
          ttlMillis          | 3600001 | 3600000
          """)
  void aBoxAboveACapIsRefusedByName(String field, String asked, String cap) {
    String name = field.substring(field.indexOf('.') + 1);
    String one = "{'" + name + "':" + asked + "}";
    Fields fields = parse(name.equals(field) ? one : "{'limits':" + one + "}");
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> Orders.box(fields, CAPS))
        .satisfies(problem -> assertThat(problem.code()).isEqualTo(Problem.Code.FORBIDDEN))
        .withMessage(
            "\"%s\" is %s, but this server allows %s at most".formatted(field, asked, cap));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          timeoutMillis    | 3001    | 3001    | 3000
          timeoutMillis    | 0       | 0, none | 3000
          graceMillis      | 3001    | 3001    | 3000
          outputLimitBytes | 8388609 | 8388609 | 8388608
          openFiles        | 65      | 65      | 64
          fileSizeBytes    | 8388609 | 8388609 | 8388608
          """)
  void aCommandAboveACapIsRefusedByName(String field, long asked, String told, String cap) {
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> command(",'" + field + "':" + asked, Duration.ZERO, CAPS))
        .withMessage("\"%s\" is %s, but this server allows %s at most".formatted(field, told, cap));
  }

  /** Wherever there is a grace: no code has more time after its time than the time itself. */
  @Test
  void aGraceIsNoLongerThanTheLongestTimeout() {
    assertThat(ContextRoutes.cell(parse("{'code':'1'}"), CAPS).grace())
        .isEqualTo(Duration.ofSeconds(3));
    assertThat(ContextRoutes.cell(parse("{'code':'1','graceMillis':2000}"), CAPS).grace())
        .isEqualTo(Duration.ofSeconds(2));
    assertThatExceptionOfType(Problem.class)
        .isThrownBy(() -> ContextRoutes.cell(parse("{'code':'1','graceMillis':3001}"), CAPS))
        .withMessageContaining("\"graceMillis\" is 3001, but this server allows 3000 at most");
    var cell =
        CellCode.parse(
            parse("{'code':'1','language':'python','rich':true}"), Languages.ofHost(), CAPS);
    assertThat(cell.task().cell().grace()).isEqualTo(Duration.ofSeconds(3));
    assertThat(CAPS.cap(ExecSpec.of("a")).grace()).isEqualTo(Duration.ofSeconds(3));
    assertThat(CAPS.grace(Duration.ofDays(1))).isEqualTo(Duration.ofSeconds(3));
    assertThat(Caps.NONE.grace(Duration.ofDays(1))).isEqualTo(Duration.ofDays(1));
  }
}
