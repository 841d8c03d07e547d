package dev.ebb.torture;

import static dev.ebb.torture.page.Page.escape;
import static dev.ebb.torture.page.Page.row;
import static dev.ebb.torture.page.Page.svg;
import static dev.ebb.torture.page.Page.x;
import static dev.ebb.torture.page.Page.y;

import dev.ebb.oracle.Invariant;
import dev.ebb.torture.page.Page;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The report as one page that needs nothing else. All that is not ours is escaped. */
final class ReportPage {
  private final Report report;

  ReportPage(Report report) {
    this.report = report;
  }

  String html() {
    var page = Page.begin("ebb torture", report.isClean(), report.verdict(), summary());
    page.append(violations()).append("<h2>Time to gone</h2>").append(timesTable());
    page.append(timesPlot()).append("<h2>Processes at once</h2>").append(processesPlot());
    page.append("<h2>What was done</h2>").append(countTables());
    page.append("<h2>Invariants checked</h2>").append(checksTable());
    report.skipped().forEach(reason -> page.append("<p>skipped: ").append(escape(reason)));
    return page.append("</html>\n").toString();
  }

  private String summary() {
    Settings settings = report.settings();
    return "seed %d, profile %s, %d boxes at once, %d s on %s"
        .formatted(
            settings.seed(),
            settings.profile().wireName(),
            settings.boxes(),
            report.took().toSeconds(),
            report.host());
  }

  private String violations() {
    if (report.isClean()) {
      return "";
    }
    return report.violations().stream()
        .map(
            each ->
                "<li>%s, %s: %s"
                    .formatted(each.invariant(), escape(each.where()), escape(each.what())))
        .collect(Collectors.joining("", "<h2>Violations</h2><ul>", "</ul>"));
  }

  private String timesTable() {
    return report.timesToGone().stream()
        .map(
            row ->
                row(
                    row.processes(),
                    Integer.toString(row.count()),
                    Report.millis(row.p50()),
                    Report.millis(row.p99()),
                    Report.millis(row.most())))
        .collect(
            Collectors.joining(
                "",
                "<table><tr><th>processes<th class=\"n\">boxes<th class=\"n\">p50 ms<th"
                    + " class=\"n\">p99 ms<th class=\"n\">max ms",
                "</table>"));
  }

  private String countTables() {
    var tables = new StringBuilder();
    report
        .counts()
        .forEach(
            (group, words) -> {
              tables.append("<h3>").append(escape(group.words())).append("</h3><table>");
              words.forEach((word, count) -> tables.append(row(word, Long.toString(count))));
              tables.append("</table>");
            });
    return tables.toString();
  }

  private String checksTable() {
    var table = new StringBuilder("<table>");
    for (Invariant each : Invariant.values()) {
      long count = report.checks().getOrDefault(each, 0L);
      table.append(row(each + " " + each.words(), Long.toString(count)));
    }
    return table.append("</table>").toString();
  }

  // --- plots ---

  /** Each box a dot: its processes to the right, its time upwards, both by their logarithm. */
  private String timesPlot() {
    List<TimesToGone.Time> times = report.times();
    double mostMillis = 1;
    double mostProcesses = 1;
    for (TimesToGone.Time each : times) {
      mostMillis = Math.max(mostMillis, each.time().toNanos() / 1e6);
      mostProcesses = Math.max(mostProcesses, each.processes());
    }
    var dots = new StringBuilder();
    for (TimesToGone.Time each : times) {
      double right = Math.log1p(each.processes()) / Math.log1p(mostProcesses);
      double up = Math.log1p(each.time().toNanos() / 1e6) / Math.log1p(mostMillis);
      dots.append(dot(x(right), y(up)));
    }
    String most = String.format(Locale.ROOT, "%.0f ms", mostMillis);
    return svg(dots.toString(), "0 processes", "%.0f".formatted(mostProcesses), most);
  }

  private static String dot(double x, double y) {
    return String.format(
        Locale.ROOT,
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#1769aa\" opacity=\".5\"/>",
        x,
        y);
  }

  private static String killLine(double at) {
    return String.format(
        Locale.ROOT,
        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"180\" stroke=\"#b00020\"/>",
        at,
        at);
  }

  /** All processes below us, second by second; a red line where the daemon was killed. */
  private String processesPlot() {
    double seconds = Math.max(1, report.took().toMillis() / 1e3);
    int most = report.samples().stream().mapToInt(Tally.Sample::processes).max().orElse(1);
    var content = new StringBuilder();
    for (Duration kill : report.daemonKills()) {
      content.append(killLine(x(kill.toMillis() / 1e3 / seconds)));
    }
    var points =
        report.samples().stream()
            .map(
                sample ->
                    new Page.Point(
                        sample.at().toMillis() / 1e3 / seconds,
                        sample.processes() / (double) Math.max(1, most)))
            .toList();
    content.append(Page.line(points));
    return svg(content.toString(), "0 s", "%.0f s".formatted(seconds), most + " processes");
  }
}
