package dev.ebb.server.answer;

import static dev.ebb.server.schema.Values.COUNT;
import static dev.ebb.server.schema.Values.FLAG;
import static dev.ebb.server.schema.Values.MILLIS;
import static dev.ebb.server.schema.Values.NUMBER;
import static dev.ebb.server.schema.Values.TEXT;
import static dev.ebb.server.schema.Values.TEXTS;
import static dev.ebb.server.schema.Values.TEXT_MAP;
import static dev.ebb.server.schema.Values.TIME;

import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Kind;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import dev.ebb.model.Occupancy;
import dev.ebb.model.StallTimes;
import dev.ebb.server.schema.Components;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.BoxRelease;
import dev.ebb.server.service.EndedBy;
import dev.ebb.server.service.Inventory;
import dev.ebb.server.service.TenantBox;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The answers about boxes. */
public final class BoxAnswers {
  private BoxAnswers() {}

  // --- what it may have ---

  private static final ObjectSchema<Limits> LIMITS =
      ObjectSchema.<Limits>named("Limits")
          .has("memoryBytes", COUNT, limits -> limits.memory().bytes())
          .has("pids", COUNT, Limits::pids)
          .has("cpus", NUMBER, Limits::cpus)
          .has("diskBytes", COUNT, limits -> limits.disk().bytes());

  private static final ObjectSchema<Mount> MOUNT =
      ObjectSchema.<Mount>named("Mount")
          .has("source", TEXT.described("absolute path on the host"), m -> m.host().toString())
          .has("target", TEXT.described("absolute path in the box"), Mount::box)
          .has("readOnly", FLAG, Mount::readOnly);

  /** The form is that of requests, too. */
  public static final Value<Network> NETWORK =
      new Value<>() {
        @Override
        public Map<String, Object> describe(Components components) {
          return components.refer("Network", this, BoxAnswers::describeNetwork);
        }

        @Override
        public Object write(Network network) {
          return network.policy().isEmpty()
              ? network.toString()
              : Map.of("allow", network.policy().rules());
        }
      };

  private static Map<String, Object> describeNetwork() {
    var rules =
        Values.keywords(
            "type",
            "array",
            "description",
            "example.org, example.org:8443, *.example.org or *",
            "items",
            Map.of("type", "string"));
    var allow =
        Values.keywords(
            "type",
            "object",
            "required",
            List.of("allow"),
            "additionalProperties",
            false,
            "properties",
            Map.of("allow", rules));
    var word = Values.keywords("type", "string", "enum", List.of("none", "host"));
    return Values.keywords("oneOf", List.of(word, allow));
  }

  // --- how it ended ---

  /** Numbers by kind. */
  public static final Value<Map<Kind, ? extends Number>> COUNTS =
      Value.of(Values.map(COUNT), BoxAnswers::counts);

  private static final ObjectSchema<Certificate.Stuck> STUCK =
      ObjectSchema.<Certificate.Stuck>inline()
          .has("kind", TEXT, stuck -> stuck.kind().wireName())
          .has("subject", TEXT, Certificate.Stuck::subject)
          .has("reason", TEXT, Certificate.Stuck::reason);

  public static final ObjectSchema<Certificate> CERTIFICATE =
      ObjectSchema.<Certificate>named("Certificate", "The proof that something was given back.")
          .has("subject", TEXT, Certificate::box)
          .has("held", COUNTS, Certificate::held)
          .has("released", COUNTS, Certificate::released)
          .has("stuck", Values.list(STUCK), Certificate::stuck)
          .has("clean", FLAG, Certificate::isClean)
          .has("durationMillis", MILLIS, Certificate::took);

  /** Numbers by kind, in the order of the kinds. */
  private static Map<String, Object> counts(Map<Kind, ? extends Number> counts) {
    var object = new LinkedHashMap<String, Object>();
    for (Kind kind : Kind.values()) {
      if (counts.containsKey(kind)) {
        object.put(kind.wireName(), counts.get(kind));
      }
    }
    return object;
  }

  /** How far the release of a box has come. */
  public static final ObjectSchema<BoxRelease> RELEASE =
      ObjectSchema.<BoxRelease>named("Release")
          .has(
              "released",
              Values.words(BoxRelease.State.values(), BoxRelease.State::wireName)
                  .described(
                      "pending: the box is being released; done: it is gone, and the certificate"
                          + " proves it; stuck: the certificate names what stays, and it is tried"
                          + " again"),
              BoxRelease::state)
          .has(
              "certificateUrl",
              TEXT.described("where the release and its certificate are found, for a day"),
              release -> "/v1/certificates/" + release.box())
          .may("certificate", CERTIFICATE, BoxRelease::certificate);

  /** The release of a box, on request. */
  public static final ObjectSchema<BoxRelease> RELEASE_OF_BOX =
      ObjectSchema.<BoxRelease>named("BoxRelease")
          .has("box", TEXT, BoxRelease::box)
          .includes(RELEASE, release -> release)
          .has("at", TIME.described("of its end, or of the answer"), BoxRelease::at)
          .may(
              "recovered",
              FLAG.described("true when the daemon died first, and the next one released the rest"),
              release -> Optional.of(release.isRecovered()).filter(is -> is));

  // --- boxes ---

  public static final ObjectSchema<TenantBox> BOX =
      ObjectSchema.<TenantBox>named("Box")
          .has("id", TEXT, TenantBox::id)
          .may("name", TEXT, box -> box.order().name())
          .has("tenant", TEXT, TenantBox::tenant)
          .has("state", Values.words(BoxState.values(), BoxState::wireName), TenantBox::state)
          .has("labels", TEXT_MAP, box -> box.order().labels())
          .has("limits", LIMITS, box -> box.order().spec().limits())
          .has("network", NETWORK, TenantBox::network)
          .has("mounts", Values.list(MOUNT), box -> box.order().spec().mounts())
          .has("packages", TEXTS, BoxAnswers::packages)
          .may(
              "backend",
              TEXT.described(
                  "that made it; absent while none did, or of a box older than this field"),
              TenantBox::backend)
          .has(
              "detached",
              FLAG.described("It outlives the daemon, and the next one finds it."),
              box -> box.order().detached())
          .has("createdAt", TIME, TenantBox::createdAt)
          .may("ttlMillis", MILLIS, box -> box.order().ttl())
          .may("expiresAt", TIME, TenantBox::expiresAt)
          .may("idleTimeoutMillis", MILLIS, box -> box.order().idleTimeout())
          .may("endedAt", TIME, TenantBox::endedAt)
          .may("endedBy", Values.words(EndedBy.values(), EndedBy::wireName), TenantBox::endedBy)
          .has("runningExecs", COUNT, TenantBox::running)
          .may("certificate", CERTIFICATE, TenantBox::certificate);

  private static List<String> packages(TenantBox box) {
    return box.order().spec().packages().stream().map(Path::toString).toList();
  }

  /** A part of the requested list of boxes. */
  public record Page(List<TenantBox> boxes, Optional<String> next) {}

  public static final ObjectSchema<Page> BOXES =
      ObjectSchema.<Page>named("Boxes")
          .has("boxes", Values.list(BOX), Page::boxes)
          .may("next", TEXT.described("ask for more with after="), Page::next);

  public static final ObjectSchema<BoxRegistry.Removal> REMOVED =
      ObjectSchema.<BoxRegistry.Removal>named("Removed")
          .has("id", TEXT, BoxRegistry.Removal::id)
          .may("certificate", CERTIFICATE, BoxRegistry.Removal::certificate);

  // --- what it holds and uses ---

  private static final ObjectSchema<StallTimes.Stall> STALL =
      ObjectSchema.<StallTimes.Stall>named("Stall")
          .has("percent", NUMBER.described("Of the last ten seconds."), StallTimes.Stall::percent)
          .has("totalMillis", MILLIS, StallTimes.Stall::total);

  private static final ObjectSchema<StallTimes> PRESSURE =
      ObjectSchema.<StallTimes>named(
              "BoxPressure",
              "How long commands stalled for want of it, where the kernel reports it.")
          .has("cpu", STALL, StallTimes::cpu)
          .has("memory", STALL, StallTimes::memory)
          .has("io", STALL, StallTimes::io);

  public static final ObjectSchema<CgroupUsage> USAGE =
      ObjectSchema.<CgroupUsage>named("Usage")
          .has("cpuMillis", MILLIS, CgroupUsage::cpu)
          .has("peakMemoryBytes", COUNT, CgroupUsage::peakMemoryBytes)
          .has("peakProcesses", COUNT, CgroupUsage::peakPids)
          .has("oomKills", COUNT, CgroupUsage::oomKills)
          .has("forksRefused", COUNT, CgroupUsage::pidsRefused);

  private static final ObjectSchema<Inventory.Usage> BOX_USAGE =
      ObjectSchema.<Inventory.Usage>named("BoxUsage")
          .includes(USAGE, Inventory.Usage::used)
          .may("memoryBytes", COUNT, usage -> usage.occupancy().map(Occupancy::memoryBytes))
          .may("processes", COUNT, usage -> usage.occupancy().map(Occupancy::tasks))
          .may("pressure", PRESSURE, Inventory.Usage::pressure);

  private static final ObjectSchema<Inventory.Item> HOLDING =
      ObjectSchema.<Inventory.Item>named("Holding")
          .has("kind", Values.words(holdingKinds()), Inventory.Item::kind)
          .has("subject", TEXT, Inventory.Item::subject)
          .may("detail", TEXT, Inventory.Item::detail)
          .may("pid", COUNT, item -> item.process().map(Inventory.Member::pid))
          .may("parent", COUNT, item -> item.process().map(Inventory.Member::parent))
          .may("state", TEXT, item -> item.process().map(each -> String.valueOf(each.state())))
          .may("exec", COUNT, item -> item.process().flatMap(BoxAnswers::exec));

  private static Optional<Integer> exec(Inventory.Member process) {
    return process.exec().stream().boxed().findFirst();
  }

  private static String[] holdingKinds() {
    Stream<String> kinds = Stream.of(Kind.values()).map(Kind::wireName);
    return Stream.concat(kinds, Stream.of("port")).toArray(String[]::new);
  }

  /** A box with everything known about it. */
  public record Details(
      TenantBox box, List<Inventory.Item> holdings, Optional<Inventory.Usage> usage) {}

  public static final ObjectSchema<Details> DETAILS =
      ObjectSchema.<Details>named("BoxDetails")
          .includes(BOX, Details::box)
          .has("holdings", Values.list(HOLDING), Details::holdings)
          .may("usage", BOX_USAGE, Details::usage);
}
