package dev.ebb.init;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import dev.ebb.model.OutputLoss;
import java.lang.reflect.Modifier;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** {@link Protocol} against init/protocol.h, as a C compiler understands it. */
class ProtocolTest {
  /** Constants that a size or a layout defines, without a number of their own. */
  private static final Map<String, String> SIZES =
      Map.of(
          "HEADER_SIZE", "message_header",
          "ORDER_SIZE", "order",
          "START_REQUEST_SIZE", "start_request");

  private static CompiledHeader header;

  @BeforeAll
  static void compile() throws Exception {
    header = CompiledHeader.compile();
  }

  private static Map<String, Long> javaConstants() throws IllegalAccessException {
    var constants = new TreeMap<String, Long>();
    for (var field : Protocol.class.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == int.class) {
        field.setAccessible(true);
        constants.put(field.getName(), (long) field.getInt(null));
      }
    }
    return constants;
  }

  @Test
  void theHeaderIsReadWhole() {
    assertThat(header.constants()).hasSizeGreaterThan(20).containsEntry("MESSAGE_ENDED", 35L);
    assertThat(header.structs())
        .containsOnlyKeys(
            "message_header", "order", "start_request", "segment", "ended", "buffered", "contents");
  }

  @Test
  void everyConstantIsTheSameOnBothSides() throws Exception {
    var java = javaConstants();
    SIZES.forEach((name, struct) -> assertThat(java.remove(name)).isEqualTo(header.size(struct)));
    assertThat(java).isEqualTo(header.constants());
  }

  @Test
  void everyTypeOfMessageIsFromOneSideOnly() {
    var numbers = new TreeSet<Long>();
    header
        .constants()
        .forEach(
            (name, value) -> {
              if (name.startsWith("MESSAGE_") && !name.endsWith("MAX")) {
                assertThat(numbers.add(value)).as(name).isTrue();
              }
            });
    assertThat(numbers).hasSize(30);
  }

  @Test
  void everyStepAndReasonHasItsName() {
    header
        .constants()
        .forEach(
            (name, value) -> {
              int number = Math.toIntExact(value);
              if (name.startsWith("STEP_")) {
                assertThat(Protocol.step(number).name()).isEqualTo(name.substring(5));
              } else if (name.startsWith("END_")) {
                assertThat(Protocol.reason(number).name()).isEqualTo(name.substring(4));
              }
            });
    assertThatThrownBy(() -> Protocol.step(0)).hasMessage("init named step 0");
    assertThatThrownBy(() -> Protocol.reason(99)).hasMessage("init named reason 99");
  }

  private static long field(byte[] message, int start, String struct, String field) {
    var buffer = ByteBuffer.wrap(message).order(ByteOrder.nativeOrder());
    int at = start + header.offset(struct, field);
    return switch (header.width(struct, field)) {
      case 2 -> buffer.getShort(at);
      case 4 -> buffer.getInt(at);
      case 8 -> buffer.getLong(at);
      default -> throw new AssertionError(struct + "." + field);
    };
  }

  private static long head(byte[] message, String field) {
    return field(message, 0, "message_header", field);
  }

  private static StartRequest request(boolean hasStdin, boolean keep, boolean hasLeaf) {
    return request(hasStdin, keep, hasLeaf, ExecKind.COMMAND);
  }

  private static StartRequest request(
      boolean hasStdin, boolean keep, boolean hasLeaf, ExecKind kind) {
    return new StartRequest(
        List.of("printf", "", "wörld\n"),
        List.of("A=1", "EMPTY="),
        "/wörk",
        Duration.ofSeconds(90),
        Duration.ofMillis(1500),
        new ByteSize(0x1_2345_6789L),
        4096,
        new ByteSize(0x9_8765_4321L),
        hasStdin,
        keep,
        hasLeaf ? LeafHandle.Form.DIRECTORY : LeafHandle.Form.NONE,
        false,
        kind,
        new StartRequest.Share(0x7_0000_0001L, 0x8_0000_0001L, 77));
  }

  @Test
  void anOrderIsLaidOutAsTheCompilerReadsIt() {
    var disk = new ByteSize(0x1_2345_6789L);
    var temporary = new ByteSize(0x9_8765_4321L);
    byte[] order = Protocol.order(new CloneOrder("b1", 7, true, disk, temporary, false, 2), 3);
    assertThat(order).hasSize(Math.toIntExact(header.size("order")));
    assertThat(field(order, 0, "order", "flags")).isEqualTo(header.constant("ORDER_HIDES_CGROUPS"));
    assertThat(field(order, 0, "order", "uid")).isEqualTo(7);
    assertThat(field(order, 0, "order", "disk")).isEqualTo(disk.bytes());
    assertThat(field(order, 0, "order", "temporary")).isEqualTo(temporary.bytes());
    assertThat(field(order, 0, "order", "fds")).isEqualTo(3);
    assertThat(field(order, 0, "order", "tasks")).isEqualTo(2);
    int name = header.offset("order", "tasks") + header.width("order", "tasks");
    assertThat(new String(order, name, 3, UTF_8)).isEqualTo("b1\0");
  }

  @Test
  void startIsLaidOutAsTheCompilerReadsIt() {
    byte[] message = Protocol.start(0x01020304, 4, request(true, false, false), false);
    int body = Math.toIntExact(header.size("message_header"));
    assertThat(head(message, "size")).isEqualTo(message.length - body);
    assertThat(head(message, "type")).isEqualTo(header.constant("MESSAGE_START"));
    assertThat(head(message, "fds")).isEqualTo(4);
    assertThat(head(message, "exec")).isEqualTo(0x01020304);
    assertThat(head(message, "zero")).isZero();
    assertThat(field(message, body, "start_request", "timeout_ms")).isEqualTo(90_000);
    assertThat(field(message, body, "start_request", "grace_ms")).isEqualTo(1_500);
    assertThat(field(message, body, "start_request", "output_limit")).isEqualTo(0x1_2345_6789L);
    assertThat(field(message, body, "start_request", "open_files")).isEqualTo(4096);
    assertThat(field(message, body, "start_request", "file_size")).isEqualTo(0x9_8765_4321L);
    assertThat(field(message, body, "start_request", "memory")).isEqualTo(0x7_0000_0001L);
    assertThat(field(message, body, "start_request", "data_size")).isEqualTo(0x8_0000_0001L);
    assertThat(field(message, body, "start_request", "processes")).isEqualTo(77);
    assertThat(field(message, body, "start_request", "flags"))
        .isEqualTo(header.constant("START_HAS_STDIN"));
    assertThat(field(message, body, "start_request", "argc")).isEqualTo(3);
    assertThat(field(message, body, "start_request", "envc")).isEqualTo(2);
    assertThat(field(message, body, "start_request", "rows")).isZero();
    assertThat(field(message, body, "start_request", "columns")).isZero();
    int strings = body + Math.toIntExact(header.size("start_request"));
    assertThat(new String(message, strings, message.length - strings, UTF_8))
        .isEqualTo("/wörk\0printf\0\0wörld\n\0A=1\0EMPTY=\0");
  }

  @Test
  void everyFieldOfAStartIsKnownHere() {
    assertThat(header.structs().get("start_request"))
        .containsExactly(
            "timeout_ms",
            "grace_ms",
            "output_limit",
            "open_files",
            "file_size",
            "memory",
            "data_size",
            "processes",
            "flags",
            "argc",
            "envc",
            "rows",
            "columns");
  }

  @Test
  void theFlagsOfAStartAreApart() {
    int body = Math.toIntExact(header.size("message_header"));
    byte[] none = Protocol.start(1, 3, request(false, false, false), false);
    byte[] keep = Protocol.start(1, 3, request(false, true, false), false);
    byte[] leaf = Protocol.start(1, 3, request(false, false, true), false);
    assertThat(field(none, body, "start_request", "flags")).isZero();
    assertThat(field(keep, body, "start_request", "flags"))
        .isEqualTo(header.constant("START_KEEP"));
    assertThat(field(leaf, body, "start_request", "flags"))
        .isEqualTo(header.constant("START_HAS_LEAF"));
  }

  @Test
  void aTerminalHasItsSize() {
    int body = Math.toIntExact(header.size("message_header"));
    var terminal = new ExecKind.Terminal(0x1234, 0x7FFE);
    byte[] message = Protocol.start(1, 4, request(true, false, false, terminal), false);
    assertThat(field(message, body, "start_request", "flags"))
        .isEqualTo(header.constant("START_HAS_STDIN") | header.constant("START_TERMINAL"));
    assertThat(field(message, body, "start_request", "rows")).isEqualTo(0x1234);
    assertThat(field(message, body, "start_request", "columns")).isEqualTo(0x7FFE);
  }

  @Test
  void rearmIsTheLimitsOfAStartAndNothingElse() {
    int body = Math.toIntExact(header.size("message_header"));
    int limits = header.offset("start_request", "flags");
    byte[] start = Protocol.start(7, 4, request(true, true, true), false);
    byte[] rearm = Protocol.rearm(7, request(true, true, true));
    assertThat(head(rearm, "size")).isEqualTo(header.size("start_request"));
    assertThat(head(rearm, "type")).isEqualTo(header.constant("MESSAGE_REARM"));
    assertThat(head(rearm, "fds")).isZero();
    assertThat(head(rearm, "exec")).isEqualTo(7);
    assertThat(rearm).hasSize(body + Math.toIntExact(header.size("start_request")));
    assertThat(Arrays.copyOfRange(rearm, body, body + limits))
        .isEqualTo(Arrays.copyOfRange(start, body, body + limits));
    assertThat(field(rearm, body, "start_request", "flags"))
        .isEqualTo(header.constant("START_KEEP"));
    assertThat(Arrays.copyOfRange(rearm, body + limits + 4, rearm.length)).containsOnly(0);
  }

  @Test
  void contentsAreReadAsTheCompilerLaysThemOut() {
    var body = Protocol.buffer(Math.toIntExact(header.size("contents")));
    body.putInt(header.offset("contents", "processes"), 2)
        .putInt(header.offset("contents", "descriptors"), 11)
        .putLong(header.offset("contents", "files"), 0x1_0000_0001L)
        .putLong(header.offset("contents", "blocks"), 0x2_0000_0002L);
    assertThat(Protocol.contents(body))
        .isEqualTo(new BoxContents(2, 11, 0x1_0000_0001L, 0x2_0000_0002L));
    assertThat(body.hasRemaining()).isFalse();
  }

  @Test
  void aSegmentIsReadAsTheCompilerLaysItOut() {
    var body = Protocol.buffer(Math.toIntExact(header.size("segment")));
    body.putLong(header.offset("segment", "stdout_size"), 0x1_0000_0001L)
        .putLong(header.offset("segment", "stderr_size"), 0x2_0000_0002L)
        .putInt(
            header.offset("segment", "flags"), Math.toIntExact(header.constant("ENDED_TRUNCATED")))
        .putInt(header.offset("segment", "log_errno"), 28)
        .putLong(header.offset("segment", "stdout_lost"), 3)
        .putLong(header.offset("segment", "stderr_lost"), 4);
    assertThat(Protocol.segment(body))
        .isEqualTo(
            new ExecEvents.Written(0x1_0000_0001L, 0x2_0000_0002L, true, new OutputLoss(3, 4, 28)));
    assertThat(body.hasRemaining()).isFalse();
  }

  @Test
  void resizeIsRowsAndColumns() {
    byte[] message = Protocol.resize(7, new ExecKind.Terminal(24, 80));
    assertThat(head(message, "size")).isEqualTo(4);
    assertThat(head(message, "type")).isEqualTo(header.constant("MESSAGE_RESIZE"));
    var body = ByteBuffer.wrap(message, 16, 4).slice().order(ByteOrder.nativeOrder());
    assertThat(body.getShort()).isEqualTo((short) 24);
    assertThat(body.getShort()).isEqualTo((short) 80);
  }

  @Test
  void signalIsItsNumber() {
    byte[] message = Protocol.signal(7, 28);
    assertThat(head(message, "size")).isEqualTo(4);
    assertThat(head(message, "type")).isEqualTo(header.constant("MESSAGE_SIGNAL"));
    assertThat(head(message, "exec")).isEqualTo(7);
    assertThat(ByteBuffer.wrap(message).order(ByteOrder.nativeOrder()).getInt(16)).isEqualTo(28);
  }

  @Test
  void killIsSignalZeroAndGrace() {
    byte[] message = Protocol.kill(7, 15, Duration.ofSeconds(5));
    assertThat(head(message, "size")).isEqualTo(16);
    assertThat(head(message, "type")).isEqualTo(header.constant("MESSAGE_KILL"));
    assertThat(head(message, "exec")).isEqualTo(7);
    var body = ByteBuffer.wrap(message, 16, 16).slice().order(ByteOrder.nativeOrder());
    assertThat(body.getInt()).isEqualTo(15);
    assertThat(body.getInt()).isZero();
    assertThat(body.getLong()).isEqualTo(5000);
  }

  @Test
  void theShortestTimeIsOneAndTheLongestDoesNotOverflow() {
    var shortest = ByteBuffer.wrap(Protocol.kill(1, 15, Duration.ofNanos(1)));
    assertThat(shortest.order(ByteOrder.nativeOrder()).getLong(24)).isEqualTo(1);
    var longest = ByteBuffer.wrap(Protocol.kill(1, 15, Duration.ofSeconds(Long.MAX_VALUE)));
    assertThat(longest.order(ByteOrder.nativeOrder()).getLong(24))
        .isGreaterThan(Duration.ofDays(365).toMillis());
  }

  private static ByteBuffer ended(Map<String, Long> values) {
    var body =
        ByteBuffer.allocate(Math.toIntExact(header.size("ended"))).order(ByteOrder.nativeOrder());
    assertThat(values.keySet()).containsExactlyInAnyOrderElementsOf(header.structs().get("ended"));
    values.forEach(
        (field, value) -> {
          int at = header.offset("ended", field);
          if (header.width("ended", field) == 8) {
            body.putLong(at, value);
          } else {
            body.putInt(at, value.intValue());
          }
        });
    return body;
  }

  @Test
  void endedIsReadAsTheCompilerLaysItOut() {
    long stdout = 0x1_0000_0001L;
    long stderr = 0x2_0000_0002L;
    var body =
        ended(
            Map.ofEntries(
                Map.entry("reason", header.constant("END_TIMED_OUT")),
                Map.entry("flags", header.constant("ENDED_TRUNCATED")),
                Map.entry("code", 2L),
                Map.entry("status", 9L),
                Map.entry("stdout_size", stdout),
                Map.entry("stderr_size", stderr),
                Map.entry("log_errno", 28L),
                Map.entry("leftovers", 3L),
                Map.entry("cpu_us", 1_500_001L),
                Map.entry("peak_memory", 0x3_0000_0003L),
                Map.entry("peak_processes", 12L),
                Map.entry("zero", 0L),
                Map.entry("ended_ns", 0x4_0000_0004L),
                Map.entry("stdout_lost", 0x5_0000_0001L),
                Map.entry("stderr_lost", 6L)));
    var usage = new ExecEvents.Usage(Duration.ofNanos(1_500_001_000), 0x3_0000_0003L, 12, false);
    assertThat(Protocol.ended(body))
        .isEqualTo(
            new ExecEvents.Ended(
                ExecEvents.Reason.TIMED_OUT,
                false,
                9,
                false,
                true,
                false,
                stdout,
                stderr,
                new OutputLoss(0x5_0000_0001L, 6, 28),
                3,
                usage,
                0x4_0000_0004L,
                false));
    assertThat(body.hasRemaining()).isFalse();
  }

  @Test
  void theFlagsOfAnEndAreApart() {
    for (String flag :
        List.of(
            "ENDED_STUCK",
            "ENDED_TRUNCATED",
            "ENDED_UNREAPED",
            "ENDED_CROWDED",
            "ENDED_STRANGERS")) {
      var body = Protocol.buffer(Math.toIntExact(header.size("ended")));
      body.putInt(header.offset("ended", "flags"), (int) header.constant(flag));
      body.putInt(header.offset("ended", "code"), 1);
      var ended = Protocol.ended(body);
      assertThat(ended.stuck()).isEqualTo(flag.equals("ENDED_STUCK"));
      assertThat(ended.hadStrangers()).isEqualTo(flag.equals("ENDED_STRANGERS"));
      assertThat(ended.truncated()).isEqualTo(flag.equals("ENDED_TRUNCATED"));
      assertThat(ended.unreaped()).isEqualTo(flag.equals("ENDED_UNREAPED"));
      assertThat(ended.usage().crowded()).isEqualTo(flag.equals("ENDED_CROWDED"));
      assertThat(ended.exited()).isTrue();
    }
  }

  @Test
  void aShortEndIsRefused() {
    int size = Math.toIntExact(header.size("ended"));
    assertThatThrownBy(() -> Protocol.ended(Protocol.buffer(size - 1)))
        .isInstanceOf(BufferUnderflowException.class);
  }
}
