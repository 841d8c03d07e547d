package dev.ebb.cli;

import dev.ebb.cli.output.Plain;
import java.nio.file.Files;
import java.nio.file.Path;

/** Says each line of a file to the command line, one after the other, as a process of its own. */
public final class AllVerbs {
  private AllVerbs() {}

  public static void main(String[] arguments) throws Exception {
    Plain.install();
    for (String line : Files.readAllLines(Path.of(arguments[0]))) {
      System.out.println("-- " + line);
      Main.run(line.split(" "));
    }
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
