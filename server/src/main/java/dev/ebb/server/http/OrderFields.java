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
import java.util.regex.Pattern;

/** The parts of an order that several doors read alike. */
@SuppressWarnings("exports") // for doors in modules of their own, see module-info
public final class OrderFields {
  private static final Pattern NAME =
      Pattern.compile("(?!c[0-9]+$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}");

  private static final int GLOBS_MOST = 32;

  private OrderFields() {}

  /** Of a box: {@code memoryBytes}, {@code pids}, {@code diskBytes} and {@code cpus}. */
  public static Limits limits(Fields fields, Caps caps) {
    var otherwise = Limits.defaults();
    long memory =
        fields.limit(
            "memoryBytes", 1, Long.MAX_VALUE, otherwise.memory().bytes(), caps.memory().bytes());
    long pids = fields.limit("pids", 1, Caps.ANY_PIDS, otherwise.pids(), caps.pids());
    long disk =
        fields.limit("diskBytes", 1, Long.MAX_VALUE, otherwise.disk().bytes(), caps.disk().bytes());
    double cpus = fields.limit("cpus", Caps.ANY_CPUS, otherwise.cpus(), caps.cpus());
    return new Limits(
        new ByteSize(memory), (int) pids, cpus, new ByteSize(disk), otherwise.temporary());
  }

  /** Of a box, {@code ttlMillis}. One of zero is refused with the order. */
  public static Optional<Duration> ttl(Fields fields, Caps caps) {
    Optional<Duration> asked = fields.millis("ttlMillis");
    if (asked.filter(Duration::isZero).isPresent()) {
      return asked;
    }
    Duration ttl = fields.limit("ttlMillis", Duration.ZERO, caps.ttl());
    return Optional.of(ttl).filter(Duration::isPositive);
  }

  /** A network in which these names may be reached, and none if there are no names. */
  public static Network allow(List<String> rules) {
    try {
      return rules.isEmpty() ? Network.NONE : Network.allow(rules);
    } catch (IllegalArgumentException e) {
      throw bad(String.valueOf(e.getMessage()));
    }
  }

  /** Which files are wanted with their content. */
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

  /** An interpreter that keeps its state, as it is when nobody says more. */
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
