package dev.ebb.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * How code of one language is run, with one set of tools: see languages.txt beside this class.
 *
 * @param file where the code goes, in the working directory
 * @param compile empty: there is nothing to compile
 * @param run without the arguments
 * @param environment of both
 * @param invalid a line on stderr of a failed run which tells that the code makes no sense
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

  /** Whether it is called so. */
  public boolean isCalled(String word) {
    return name.equals(word) || aliases.contains(word);
  }

  /** The programs it needs, which are no files of its own. */
  public List<String> tools() {
    var tools = new ArrayList<String>();
    for (List<String> command : List.of(compile, run)) {
      if (!command.isEmpty() && !command.getFirst().startsWith("./")) {
        tools.add(command.getFirst());
      }
    }
    return tools;
  }

  /** What runs it with these arguments. */
  public List<String> run(List<String> arguments) {
    var command = new ArrayList<>(run);
    command.addAll(arguments);
    return command;
  }

  /** Whether a run that failed with these last words never began. */
  public boolean isInvalid(String stderr) {
    // SAFETY: the code chooses these lines; an expression may look at a line once for each of its
    // characters.
    return stderr
        .lines()
        .map(line -> line.substring(0, Math.min(LINE_MOST, line.length())))
        .anyMatch(line -> invalid.matcher(line).matches());
  }
}
