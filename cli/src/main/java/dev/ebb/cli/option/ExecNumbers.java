package dev.ebb.cli.option;

import dev.ebb.client.Exec;
import dev.ebb.client.Execs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import picocli.CommandLine.ParseResult;

/** Which commands of a box are meant: those that are numbered, or the last one. */
public final class ExecNumbers {
  private ExecNumbers() {}

  /** The arguments after the box. */
  public static List<Long> parse(ParseResult parsed) {
    List<String> words = Options.words(parsed);
    var numbers = new ArrayList<Long>();
    for (String word : words.subList(1, words.size())) {
      if (!word.matches("\\d{1,18}")) {
        throw Options.bad(parsed, "bad exec \"" + word + "\": write its number");
      }
      numbers.add(Long.valueOf(word));
    }
    return numbers;
  }

  public static List<Long> orLast(List<Long> numbers, Execs execs) throws IOException {
    if (!numbers.isEmpty()) {
      return numbers;
    }
    long last =
        execs.list().stream()
            .max(Comparator.comparingLong(Exec::number))
            .orElseThrow(() -> new IOException("no command has run in the box yet"))
            .number();
    return List.of(last);
  }
}
