package dev.ebb.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Times as bars, the median dark and the slowest hundredth light, in SVG. */
final class Plot {
  private static final int LABEL = 330;
  private static final int WIDTH = 520;
  private static final int ROW = 22;

  /** The shortest time on the axis, and the pixels for a factor of ten. */
  private static final double LEAST_MILLIS = 0.5;

  private static final double DECADE = WIDTH / 3.0;

  private Plot() {}

  static String of(String title, List<Series> rows) {
    int height = 60 + ROW * rows.size();
    var svg = new ArrayList<String>();
    svg.add(
        String.format(
            Locale.ROOT,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
                + " font-family=\"sans-serif\" font-size=\"12\">",
            LABEL + WIDTH + 90,
            height));
    svg.add("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>");
    svg.add("<text x=\"10\" y=\"18\" font-size=\"14\">" + escape(title) + "</text>");
    for (int millis = 1; millis <= 100; millis *= 10) {
      svg.add(line(LABEL + x(millis), height - 24));
      svg.add(text(LABEL + x(millis), height - 8, "middle", millis + " ms"));
    }
    for (int i = 0; i < rows.size(); i++) {
      svg.addAll(bar(rows.get(i), 32 + i * ROW));
    }
    svg.add("</svg>");
    return String.join("\n", svg) + "\n";
  }

  private static List<String> bar(Series row, int y) {
    double p50 = row.percentile(0.5);
    double p99 = row.percentile(0.99);
    String colour = row.isPeer() ? "#888" : "#1f77b4";
    return List.of(
        rectangle(y, x(p99), colour, 0.3),
        rectangle(y, x(p50), colour, 1),
        text(LABEL - 6, y + 12, "end", row.name()),
        text(LABEL + x(p99) + 4, y + 12, "start", String.format(Locale.ROOT, "%.1f ms", p50)));
  }

  private static String line(double x, int to) {
    return String.format(
        Locale.ROOT,
        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"28\" y2=\"%d\" stroke=\"#ccc\"/>",
        x,
        x,
        to);
  }

  private static String rectangle(int y, double width, String colour, double opacity) {
    return String.format(
        Locale.ROOT,
        "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\" opacity=\"%.1f\"/>",
        LABEL,
        y,
        width,
        ROW - 6,
        colour,
        opacity);
  }

  private static String text(double x, int y, String anchor, String words) {
    return String.format(
        Locale.ROOT,
        "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>",
        x,
        y,
        anchor,
        escape(words));
  }

  private static double x(double millis) {
    return Math.clamp(DECADE * Math.log10(millis / LEAST_MILLIS), 1, WIDTH);
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;");
  }
}
