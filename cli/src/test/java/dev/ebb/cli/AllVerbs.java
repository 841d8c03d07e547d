package dev.ebb.cli;

import dev.ebb.cli.caller.OwnProcess;
import java.nio.file.Files;
import java.nio.file.Path;

/** Says each line of a file to the command line, one after the other, as a process of its own. */
public final class AllVerbs {
  private AllVerbs() {}

  public static void main(String[] arguments) throws Exception {
    OwnProcess process = OwnProcess.open();
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      process.out().println("-- " + line);
      Main.run(process, line.split(" "));
    }
    process.end(0);
  }
}
