package dev.ebb.server.rest;

import dev.ebb.server.boxes.ServedBox;
import java.io.IOException;
import java.util.List;

/** Files in a box. */
final class BoxFilesRoutes {
  private BoxFilesRoutes() {}

  static void write(ServedBox box, List<Orders.Content> files)
      throws IOException, InterruptedException {
    if (!files.isEmpty()) {
      throw new Problem(Problem.Code.UNSUPPORTED, "files cannot be written yet");
    }
  }
}
