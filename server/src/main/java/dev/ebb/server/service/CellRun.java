package dev.ebb.server.service;

import dev.ebb.code.Cell;
import dev.ebb.code.NewFile;
import dev.ebb.code.Room;
import dev.ebb.code.WorkspaceWatch;
import dev.ebb.code.Written;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * One run of code in an existing context, and what it wrote. Context and box stay. Its owner closes
 * it; until then the output and the displays of the cell are kept.
 */
public final class CellRun implements AutoCloseable {
  private final TenantContext context;
  private final CellTask task;
  private final WorkspaceWatch watch;
  private final TenantContext.Ordered ordered;

  private CellRun(
      TenantContext context, CellTask task, WorkspaceWatch watch, TenantContext.Ordered ordered) {
    this.context = context;
    this.task = task;
    this.watch = watch;
    this.ordered = ordered;
  }

  /**
   * Writes its files, and queues the cell behind earlier ones.
   *
   * @param hasLeft whether the caller has disconnected meanwhile
   */
  static CellRun begin(
      BoxRegistry boxes, TenantContext context, CellTask task, BooleanSupplier hasLeft)
      throws IOException, InterruptedException {
    TenantBox box = context.box();
    var watch = new WorkspaceWatch[1];
    boxes.useFiles(
        box,
        () -> {
          NewFile.write(box.files(), task.files());
          watch[0] = WorkspaceWatch.of(box.files());
        },
        hasLeft);
    return new CellRun(context, task, watch[0], context.submit(task.cell()));
  }

  TenantContext.Ordered ordered() {
    return ordered;
  }

  public TenantContext context() {
    return context;
  }

  public Cell cell() {
    return ordered.cell();
  }

  /** Returns the changes in the working directory since the beginning, by any process. */
  public Written written(Room room) throws IOException, InterruptedException {
    return watch.written(task.outputs(), room);
  }

  @Override
  public void close() {
    ordered.close();
  }
}
