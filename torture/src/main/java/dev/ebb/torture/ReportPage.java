package dev.ebb.torture;

import dev.ebb.oracle.Invariant;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** The report as one page that needs nothing else. All that is not ours is escaped. */
final class ReportPage {
  private static final int WIDTH = 800;
  private static final int HEIGHT = 200;
  private static final int MARGIN = 40;
  private static final String STYLE =
      "body{font:15px/1.5 system-ui,sans-serif;max-width:880px;margin:2em auto;padding:0 1em;color:#1b2733}"
          + "table{border-collapse:collapse;margin:.5em 0}td,th{padding:.1em .9em .1em 0;text-align:left}"
          + "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}svg{background:#f4f7f9;width:100%}"
          + "text{font:11px sans-serif;fill:#567}.clean{color:#0a6b3d}.broken{color:#b00020}";

  private final Report report;

  ReportPage(Report report) {
    this.report = report;
  }

  String html() {
    var page = new StringBuilder("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    page.append("<title>ebb torture</title><style>").append(STYLE).append("</style>");
    page.append("<h1>ebb torture</h1><p class=\"")
        .append(report.isClean() ? "clean" : "broken")
        .append("\"><b>")
        .append(escape(report.verdict()))
        .append("</b><p>")
        .append(escape(summary()));
    page.append(violations()).append("<h2>Time to gone</h2>").append(timesTable());
    page.append(timesPlot()).append("<h2>Processes at once</h2>").append(processesPlot());
    page.append("<h2>What was done</h2>").append(countTables());
    page.append("<h2>Invariants checked</h2>").append(checksTable());
    report.skipped().forEach(reason -> page.append("<p>skipped: ").append(escape(reason)));
    return page.append("</html>\n").toString();
  }

  static String escape(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replace("'", "&#39;");
  }

  private String summary() {
    Settings settings = report.settings();
    return "seed %d, profile %s, %d boxes at once, %d s on %s"
        .formatted(
            settings.seed(),
            settings.profile().word(),
            settings.boxes(),
            report.took().toSeconds(),
            report.host());
  }

  private static String row(String... cells) {
    var row = new StringBuilder("<tr><td>").append(escape(cells[0]));
    for (int i = 1; i < cells.length; i++) {
      row.append("<td class=\"n\">").append(escape(cells[i]));
    }
    return row.toString();
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
                "<table><tr><th>processes<th class=\"n\">boxes<th class=\"n\">p50 ms<th class=\"n\">p99"
                    + " ms<th class=\"n\">max ms",
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

  private static String svg(String content, String from, String to, String most) {
    return """
        <svg viewBox="0 0 %d %d" role="img"><text x="4" y="14">%s</text>\
        <text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text>%s</svg>"""
        .formatted(
            WIDTH,
            HEIGHT,
            escape(most),
            MARGIN,
            HEIGHT - 4,
            escape(from),
            WIDTH,
            HEIGHT - 4,
            escape(to),
            content);
  }

  private static double x(double share) {
    return MARGIN + share * (WIDTH - MARGIN);
  }

  private static double y(double share) {
    return (HEIGHT - 20) - share * (HEIGHT - 40);
  }

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
      dots.append(
          String.format(
              Locale.ROOT,
              "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#1769aa\" opacity=\".5\"/>",
              x(right),
              y(up)));
    }
    String most = String.format(Locale.ROOT, "%.0f ms", mostMillis);
    return svg(dots.toString(), "0 processes", "%.0f".formatted(mostProcesses), most);
  }

  /** All processes below us, second by second; a red line where the daemon was killed. */
  private String processesPlot() {
    double seconds = Math.max(1, report.took().toMillis() / 1e3);
    int most = report.samples().stream().mapToInt(Tally.Sample::processes).max().orElse(1);
    var content = new StringBuilder();
    for (Duration kill : report.daemonKills()) {
      double at = x(kill.toMillis() / 1e3 / seconds);
      content.append(
          String.format(
              Locale.ROOT,
              "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"180\" stroke=\"#b00020\"/>",
              at,
              at));
    }
    String points =
        report.samples().stream()
            .map(
                sample ->
                    String.format(
                        Locale.ROOT,
                        "%.1f,%.1f",
                        x(sample.at().toMillis() / 1e3 / seconds),
                        y(sample.processes() / (double) Math.max(1, most))))
            .collect(Collectors.joining(" "));
    content.append("<polyline fill=\"none\" stroke=\"#1769aa\" stroke-width=\"1.5\" points=\"");
    content.append(points).append("\"/>");
    return svg(content.toString(), "0 s", "%.0f s".formatted(seconds), most + " processes");
  }
}
