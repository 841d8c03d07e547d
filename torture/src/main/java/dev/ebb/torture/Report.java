package dev.ebb.torture;

import dev.ebb.json.JsonObject;
import dev.ebb.oracle.Invariant;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The report of a run: what was done, and what was found. */
record Report(
    Settings settings,
    String host,
    Duration took,
    Map<Tally.Group, Map<String, Long>> counts,
    Map<Invariant, Long> checks,
    List<Violation> violations,
    List<TimesToGone.Row> timesToGone,
    List<TimesToGone.Time> times,
    List<Tally.Sample> samples,
    List<Duration> daemonKills,
    List<String> skipped) {

  boolean isClean() {
    return violations.isEmpty();
  }

  String verdict() {
    return isClean()
        ? "clean: nothing was left"
        : violations.size() + " violations; replay with --seed " + settings.seed();
  }

  void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("report.txt"), text() + "\n");
    Files.writeString(directory.resolve("report.json"), json() + "\n");
    Files.writeString(directory.resolve("report.html"), new ReportPage(this).html());
  }

  static String millis(Duration duration) {
    return String.format(Locale.ROOT, "%.1f", duration.toNanos() / 1e6);
  }

  // --- for people ---

  String text() {
    var text = new StringBuilder();
    appendHead(text);
    counts.forEach(
        (group, words) -> {
          text.append("%n%s%n".formatted(group.words()));
          words.forEach((word, count) -> text.append("  %-32s %8d%n".formatted(word, count)));
        });
    appendTimes(text);
    text.append("%ninvariants checked%n".formatted());
    for (Invariant each : Invariant.values()) {
      text.append("  %-4s %8d  %s%n".formatted(each, checks.getOrDefault(each, 0L), each.words()));
    }
    skipped.forEach(reason -> text.append("skipped: %s%n".formatted(reason)));
    for (Violation each : violations) {
      text.append(
          "VIOLATION %s after %d ms, %s: %s%n"
              .formatted(each.invariant(), each.at().toMillis(), each.where(), each.what()));
    }
    return text.append("%n%s".formatted(verdict())).toString();
  }

  private void appendHead(StringBuilder text) {
    text.append(
        "ebb torture: seed %d, profile %s, %d boxes at once, %d s on %s%n"
            .formatted(
                settings.seed(),
                settings.profile().wireName(),
                settings.boxes(),
                took.toSeconds(),
                host));
  }

  private void appendTimes(StringBuilder text) {
    text.append(
        "%ntime to gone, ms%n  %-10s %8s %10s %10s %10s%n"
            .formatted("processes", "boxes", "p50", "p99", "max"));
    for (TimesToGone.Row row : timesToGone) {
      text.append(
          "  %-10s %8d %10s %10s %10s%n"
              .formatted(
                  row.processes(),
                  row.count(),
                  millis(row.p50()),
                  millis(row.p99()),
                  millis(row.most())));
    }
  }

  // --- for programs ---

  JsonObject json() {
    return JsonObject.empty()
        .with("seed", settings.seed())
        .with("profile", settings.profile().wireName())
        .with("boxes", (long) settings.boxes())
        .with("host", host)
        .with("tookMillis", took.toMillis())
        .with("clean", isClean())
        .with("counts", countsJson())
        .with("timeToGone", timesToGone.stream().map(Report::row).toList())
        .with("checks", checksJson())
        .with("violations", violations.stream().map(Report::violation).toList())
        .with("skipped", skipped);
  }

  private JsonObject countsJson() {
    var all = JsonObject.empty();
    for (var group : counts.entrySet()) {
      var words = JsonObject.empty();
      for (var word : group.getValue().entrySet()) {
        words = words.with(word.getKey(), word.getValue());
      }
      all = all.with(group.getKey().name().toLowerCase(Locale.ROOT), words);
    }
    return all;
  }

  private JsonObject checksJson() {
    var all = JsonObject.empty();
    for (Invariant each : Invariant.values()) {
      all = all.with(each.name(), checks.getOrDefault(each, 0L));
    }
    return all;
  }

  private static JsonObject row(TimesToGone.Row row) {
    return JsonObject.empty()
        .with("processes", row.processes())
        .with("boxes", (long) row.count())
        .with("p50Millis", row.p50().toNanos() / 1e6)
        .with("p99Millis", row.p99().toNanos() / 1e6)
        .with("maxMillis", row.most().toNanos() / 1e6);
  }

  private static JsonObject violation(Violation each) {
    return JsonObject.empty()
        .with("invariant", each.invariant().name())
        .with("what", each.what())
        .with("where", each.where())
        .with("atMillis", each.at().toMillis());
  }
}
