package dev.ebb.server.http;

import dev.ebb.code.Runner;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.Glob;
import dev.ebb.model.Limits;
import dev.ebb.model.Network;
import dev.ebb.server.service.TenantContext;
import dev.ebb.server.service.access.Caps;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/** The parts of an order that several doors read in the same way. */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public final class OrderFields {
  private static final Pattern NAME =
      Pattern.compile("(?!c[0-9]+$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}");

  private static final int GLOBS_MOST = 32;

  /** The note for fields that the configuration of the server limits. */
  public static final String CAPPED = "above the server's cap: 403";

  private static final Field<OptionalLong> MEMORY =
      Field.whole("memoryBytes", 1, Long.MAX_VALUE).described(CAPPED);
  private static final Field<OptionalLong> PIDS =
      Field.whole("pids", 1, Caps.ANY_PIDS).described(CAPPED);
  private static final Field<OptionalLong> DISK =
      Field.whole("diskBytes", 1, Long.MAX_VALUE).described(CAPPED);
  private static final Field<Optional<Double>> CPUS =
      Field.number("cpus")
          .with("exclusiveMinimum", 0)
          .with("maximum", Caps.ANY_CPUS)
          .described(CAPPED);

  /** What {@link #limits} reads. */
  public static final RequestSchema LIMITS =
      RequestSchema.named("LimitsRequest", MEMORY, PIDS, CPUS, DISK);

  /** What {@link #ttl} reads. */
  public static final Field<Optional<Duration>> TTL =
      Field.millis("ttlMillis").described("at most the server's cap, which is also the default");

  /** What {@link #outputs} parses. */
  public static final Field<List<String>> OUTPUTS =
      Field.texts("outputs")
          .with("maxItems", GLOBS_MOST)
          .described(
              "globs of *, **, ? and {a,b}: which of the files it writes come back with their"
                  + " content");

  private OrderFields() {}

  /**
   * Reads the limits of a box: {@code memoryBytes}, {@code pids}, {@code diskBytes} and {@code
   * cpus}.
   */
  public static Limits limits(Fields fields, Caps caps) {
    var otherwise = Limits.defaults();
    long memory = fields.limit(MEMORY, otherwise.memory().bytes(), caps.memory().bytes());
    long pids = fields.limit(PIDS, otherwise.pids(), caps.pids());
    long disk = fields.limit(DISK, otherwise.disk().bytes(), caps.disk().bytes());
    double cpus = fields.limit(CPUS, Caps.ANY_CPUS, otherwise.cpus(), caps.cpus());
    return new Limits(
        new ByteSize(memory), (int) pids, cpus, new ByteSize(disk), otherwise.temporary());
  }

  /** Reads {@code ttlMillis} of a box. Zero is refused with the order. */
  public static Optional<Duration> ttl(Fields fields, Caps caps) {
    Optional<Duration> asked = fields.get(TTL);
    if (asked.filter(Duration::isZero).isPresent()) {
      return asked;
    }
    Duration ttl = fields.limit(TTL, Duration.ZERO, caps.ttl());
    return Optional.of(ttl).filter(Duration::isPositive);
  }

  /** Returns a network that allows these names; without names, one without access. */
  public static Network allow(List<String> rules) {
    try {
      return rules.isEmpty() ? Network.NONE : Network.allow(rules);
    } catch (IllegalArgumentException e) {
      throw bad(String.valueOf(e.getMessage()));
    }
  }

  /** Parses the patterns of files to return with their content. */
  public static List<Glob> outputs(List<String> texts) {
    if (texts.size() > GLOBS_MOST) {
      throw bad("\"outputs\" are " + GLOBS_MOST + " at most");
    }
    var globs = new ArrayList<Glob>();
    for (String text : texts) {
      try {
        globs.add(Glob.parse(text));
      } catch (IllegalArgumentException e) {
        throw bad("\"outputs\": \"" + text + "\": " + e.getMessage());
      }
    }
    return globs;
  }

  /** Returns the default specification of an interpreter that keeps its state. */
  public static TenantContext.Order interpreter(Optional<String> name, Runner runner, Caps caps) {
    if (name.filter(text -> !NAME.matcher(text).matches()).isPresent()) {
      throw bad(
          "\"name\" must be up to 64 letters, digits, dots, dashes and underscores, and not be as"
              + " an id, c1");
    }
    var spec = caps.cap(ExecSpec.of(runner.command())).withTimeout(Duration.ZERO);
    return new TenantContext.Order(name, runner, spec.withDialogue());
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }
}
