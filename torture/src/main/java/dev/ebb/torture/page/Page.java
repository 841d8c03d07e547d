package dev.ebb.torture.page;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A page of HTML that needs nothing else, with tables and plots. All text is escaped. */
public final class Page {
  private static final int WIDTH = 800;
  private static final int HEIGHT = 200;
  private static final int MARGIN = 40;
  private static final String STYLE =
      "body{font:15px/1.5 system-ui,sans-serif;max-width:880px;margin:2em auto;padding:0 1em;color:#1b2733}"
          + "table{border-collapse:collapse;margin:.5em 0}td,th{padding:.1em .9em .1em 0;text-align:left}"
          + "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}svg{background:#f4f7f9;width:100%}"
          + "text{font:11px sans-serif;fill:#567}.clean{color:#0a6b3d}.broken{color:#b00020}";

  private Page() {}

  /** The beginning: what it is, whether all is well, and what was done. */
  public static StringBuilder begin(String title, boolean isClean, String verdict, String summary) {
    var page = new StringBuilder("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
    page.append("<title>").append(escape(title)).append("</title><style>").append(STYLE);
    page.append("</style><h1>").append(escape(title)).append("</h1><p class=\"");
    page.append(isClean ? "clean" : "broken").append("\"><b>").append(escape(verdict));
    return page.append("</b><p>").append(escape(summary));
  }

  public static String escape(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;")
        .replace("'", "&#39;");
  }

  /** A row of a table: texts, then numbers. */
  public static String row(String... cells) {
    var row = new StringBuilder("<tr><td>").append(escape(cells[0]));
    for (int i = 1; i < cells.length; i++) {
      row.append("<td class=\"n\">").append(escape(cells[i]));
    }
    return row.toString();
  }

  /** A plot: its content, what it goes from and to, and the most that there is. */
  public static String svg(String content, String from, String to, String most) {
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

  /** Where a share of the width is. */
  public static double x(double share) {
    return MARGIN + share * (WIDTH - MARGIN);
  }

  /** Where a share of the height is. */
  public static double y(double share) {
    return (HEIGHT - 20) - share * (HEIGHT - 40);
  }

  /** A point of a line: shares of width and height. */
  public record Point(double right, double up) {}

  public static String line(List<Point> points) {
    return points.stream()
        .map(each -> String.format(Locale.ROOT, "%.1f,%.1f", x(each.right()), y(each.up())))
        .collect(
            Collectors.joining(
                " ",
                "<polyline fill=\"none\" stroke=\"#1769aa\" stroke-width=\"1.5\" points=\"",
                "\"/>"));
  }
}
