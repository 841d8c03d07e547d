package dev.ebb.torture.soak;

import dev.ebb.json.JsonObject;
import dev.ebb.torture.page.Page;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The report of a soak: what was run, and what grew. */
record SoakReport(
    SoakSettings settings,
    String host,
    Duration took,
    long runs,
    Map<String, Long> counts,
    List<String> failures,
    List<Trend> trends) {

  boolean isClean() {
    return failures.isEmpty() && trends.stream().allMatch(Trend::isFlat);
  }

  String verdict() {
    if (isClean()) {
      return "flat: nothing grew";
    }
    var growing = trends.stream().filter(each -> !each.isFlat()).map(Trend::name).toList();
    return failures.isEmpty() ? "grew: " + String.join(", ", growing) : failures.getFirst();
  }

  private String summary() {
    return "%d runs, %d at once, %d s, %.0f a second, on %s"
        .formatted(
            runs,
            settings.clients(),
            took.toSeconds(),
            runs / Math.max(1e-3, took.toMillis() / 1e3),
            host);
  }

  void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("report.txt"), text() + "\n");
    Files.writeString(directory.resolve("report.json"), json() + "\n");
    Files.writeString(directory.resolve("report.html"), html());
  }

  // --- for people ---

  private static String number(Trend trend, double value) {
    return trend.unit().equals("bytes")
        ? String.format(Locale.ROOT, "%.2f MiB", value / (1 << 20))
        : String.format(Locale.ROOT, "%.1f", value);
  }

  String text() {
    var text = new StringBuilder("ebb soak: " + summary() + "\n\n");
    counts.forEach((word, count) -> text.append("  %-32s %8d%n".formatted(word, count)));
    text.append(
        "%n  %-32s %12s %12s %12s %12s%n"
            .formatted("when idle", "first", "last", "most", "growth"));
    for (Trend each : trends) {
      text.append(
          "  %-32s %12s %12s %12s %12s%s%n"
              .formatted(
                  each.name(),
                  number(each, each.first()),
                  number(each, each.last()),
                  number(each, each.most()),
                  number(each, each.growth()),
                  each.isFlat() ? "" : "  GROWS"));
    }
    failures.forEach(each -> text.append("FAILED ").append(each).append('\n'));
    return text.append('\n').append(verdict()).toString();
  }

  private String html() {
    var page = Page.begin("ebb soak", isClean(), verdict(), summary());
    page.append("<h2>What was run</h2><table>");
    counts.forEach((word, count) -> page.append(Page.row(word, Long.toString(count))));
    page.append("</table>");
    failures.forEach(each -> page.append("<p class=\"broken\">").append(Page.escape(each)));
    appendTrends(page);
    for (Trend each : trends) {
      page.append("<h3>").append(Page.escape(each.name())).append("</h3>").append(plot(each));
    }
    return page.append("</html>\n").toString();
  }

  private void appendTrends(StringBuilder page) {
    page.append("<h2>When idle</h2><table><tr><th>what<th class=\"n\">first<th class=\"n\">last")
        .append("<th class=\"n\">most<th class=\"n\">growth over all runs<th>");
    for (Trend each : trends) {
      page.append(
          Page.row(
              each.name(),
              number(each, each.first()),
              number(each, each.last()),
              number(each, each.most()),
              number(each, each.growth()),
              each.isFlat() ? "flat" : "GROWS"));
    }
    page.append("</table>");
  }

  private static String plot(Trend trend) {
    double most = Math.max(1e-9, trend.most());
    double end = Math.max(1, trend.runs().getLast());
    var points = new ArrayList<Page.Point>();
    for (int i = 0; i < trend.values().size(); i++) {
      points.add(new Page.Point(trend.runs().get(i) / end, trend.values().get(i) / most));
    }
    return Page.svg(Page.line(points), "0 runs", "%.0f runs".formatted(end), number(trend, most));
  }

  // --- for programs ---

  JsonObject json() {
    var done = JsonObject.empty();
    for (var each : counts.entrySet()) {
      done = done.with(each.getKey(), each.getValue());
    }
    return JsonObject.empty()
        .with("runs", runs)
        .with("clients", (long) settings.clients())
        .with("host", host)
        .with("tookMillis", took.toMillis())
        .with("clean", isClean())
        .with("verdict", verdict())
        .with("counts", done)
        .with("failures", failures)
        .with("trends", trends.stream().map(SoakReport::trend).toList());
  }

  private static JsonObject trend(Trend each) {
    return JsonObject.empty()
        .with("name", each.name())
        .with("unit", each.unit())
        .with("flat", each.isFlat())
        .with("growth", each.growth())
        .with("tolerance", each.tolerance())
        .with("runs", each.runs())
        .with("values", each.values());
  }
}
