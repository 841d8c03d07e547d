package dev.ebb.bench;

import com.google.errorprone.annotations.FormatMethod;
import com.google.errorprone.annotations.FormatString;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A report: goals, tables, and a plot of the rows of the tables. */
final class Page {
  private final List<String> lines = new ArrayList<>();
  private final List<Goal> goals = new ArrayList<>();
  private final List<Series> plotted = new ArrayList<>();

  /** Begins a section with a table. */
  void table(String title, String... columns) {
    lines.addAll(List.of("", "## " + title, "| " + String.join(" | ", columns) + " |"));
    lines.add("|---".repeat(columns.length) + "|");
  }

  /** Adds rows of times, with the ratio to {@code peer}, and plots them. */
  void rows(Series peer, Series... all) {
    for (Series each : all) {
      lines.add(each.timeRow(peer));
      plotted.add(each);
    }
  }

  /** Adds one row; text may hold formats. */
  @FormatMethod
  void row(@FormatString String format, Object... values) {
    lines.add(String.format(Locale.ROOT, format, values));
  }

  void text(String paragraph) {
    lines.addAll(List.of("", paragraph));
  }

  /** Adds a goal that is a ratio of medians. */
  void goal(String what, Series ours, Series peer, double atMost) {
    goal(what, ours.percentile(0.5) / peer.percentile(0.5), atMost);
  }

  void goal(String what, double value, double atMost) {
    goals.add(new Goal(what, value, atMost));
  }

  /** Writes {@code name.md} and {@code name.svg}. */
  void write(Path into, String name, String title, List<String> method) throws IOException {
    var text = new ArrayList<String>();
    text.add("# " + title);
    text.add("");
    text.addAll(method);
    text.addAll(List.of("", "![p50 and p99](" + name + ".svg)", ""));
    text.addAll(List.of("| goal | result | | |", "|---|---|---|---|"));
    goals.forEach(goal -> text.add(goal.row()));
    text.add("");
    text.add(missed());
    text.addAll(lines);
    Files.createDirectories(into);
    Files.write(into.resolve(name + ".md"), text);
    String caption = "p50 (dark) and p99 (light), logarithmic; " + Machine.describe();
    Files.writeString(into.resolve(name + ".svg"), Plot.of(caption, plotted));
    text.forEach(System.out::println);
  }

  private String missed() {
    List<String> missed = goals.stream().filter(goal -> !goal.isReached()).map(Goal::what).toList();
    return missed.isEmpty()
        ? "Every goal is reached."
        : "Missed, %d of %d: %s.".formatted(missed.size(), goals.size(), String.join("; ", missed));
  }
}
