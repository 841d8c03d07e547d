package dev.ebb.cli.output;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Rows in columns, for people. */
public final class Table {
  private static final String GAP = "  ";

  private final List<List<String>> rows = new ArrayList<>();

  public Table(String... headers) {
    rows.add(List.of(headers));
  }

  public void row(Object... cells) {
    rows.add(Arrays.stream(cells).map(cell -> clean(String.valueOf(cell))).toList());
  }

  /** Names and commands are other people's: none may speak to the terminal. */
  public static String clean(String text) {
    return Plain.cell(text);
  }

  public void print(PrintStream out) {
    int[] widths = widths();
    for (List<String> row : rows) {
      var line = new StringBuilder();
      for (int i = 0; i < row.size(); i++) {
        String cell = row.get(i);
        boolean last = i == row.size() - 1;
        line.append(cell).append(last ? "" : " ".repeat(widths[i] - width(cell)) + GAP);
      }
      out.println(line.toString().stripTrailing());
    }
  }

  private int[] widths() {
    int[] widths = new int[rows.getFirst().size()];
    for (List<String> row : rows) {
      for (int i = 0; i < row.size(); i++) {
        widths[i] = Math.max(widths[i], width(row.get(i)));
      }
    }
    return widths;
  }

  private static int width(String cell) {
    return cell.codePointCount(0, cell.length());
  }
}
