package dev.ebb.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * How to run code of one language with one set of tools: see languages.txt beside this class.
 *
 * @param file the name of the code in the working directory
 * @param compile empty: there is nothing to compile
 * @param run without the arguments
 * @param environment of both
 * @param invalid matches a line on stderr that shows that a failed run never began because the code
 *     is malformed
 */
public record Language(
    String name,
    List<String> aliases,
    String file,
    List<String> compile,
    List<String> run,
    List<String> version,
    Map<String, String> environment,
    Pattern invalid) {
  private static final int LINE_MOST = 1_000;

  /** Returns whether this is a name of the language. */
  public boolean isCalled(String word) {
    return name.equals(word) || aliases.contains(word);
  }

  /** Returns the programs that it needs from the host. */
  public List<String> tools() {
    var tools = new ArrayList<String>();
    for (List<String> command : List.of(compile, run)) {
      if (!command.isEmpty() && !command.getFirst().startsWith("./")) {
        tools.add(command.getFirst());
      }
    }
    return tools;
  }

  /** Returns the command that runs the code with these arguments. */
  public List<String> run(List<String> arguments) {
    var command = new ArrayList<>(run);
    command.addAll(arguments);
    return command;
  }

  /** Returns whether the last output of a failed run shows that it never began. */
  public boolean isInvalid(String stderr) {
    // SAFETY: the code chooses these lines; an expression may look at a line once for each of its
    // characters.
    return stderr
        .lines()
        .map(line -> line.substring(0, Math.min(LINE_MOST, line.length())))
        .anyMatch(line -> invalid.matcher(line).matches());
  }
}
