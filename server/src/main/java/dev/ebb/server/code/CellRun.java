package dev.ebb.server.code;

import dev.ebb.server.boxes.Boxes;
import dev.ebb.server.boxes.NewFile;
import dev.ebb.server.boxes.ServedBox;
import dev.ebb.server.boxes.ServedContext;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * One run of code in a context that is there, and what it wrote. Context and box stay. To be closed
 * by whoever ordered it: until then what the cell wrote and showed is there.
 */
public final class CellRun implements AutoCloseable {
  private final CellTask task;
  private final WorkspaceWatch watch;
  private final ServedContext.Ordered ordered;

  private CellRun(CellTask task, WorkspaceWatch watch, ServedContext.Ordered ordered) {
    this.task = task;
    this.watch = watch;
    this.ordered = ordered;
  }

  /**
   * Writes its files, and has it run when all that were ordered before have.
   *
   * @param hasLeft whether the caller has gone meanwhile
   */
  public static CellRun begin(
      Boxes boxes, ServedContext context, CellTask task, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    ServedBox box = context.box();
    var watch = new WorkspaceWatch[1];
    boxes.useFiles(
        box,
        () -> {
          NewFile.write(box, task.files());
          watch[0] = WorkspaceWatch.of(box);
        },
        hasLeft);
    return new CellRun(task, watch[0], context.submit(task.cell()));
  }

  public ServedContext.Ordered ordered() {
    return ordered;
  }

  /** What has become of the working directory since, whoever did it. */
  public CodeResult.Written written(Room room) throws IOException, InterruptedException {
    return watch.written(task.outputs(), room);
  }

  @Override
  public void close() {
    ordered.close();
  }
}
