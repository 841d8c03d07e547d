package dev.ebb.server.service;

import dev.ebb.admission.Permit;
import dev.ebb.code.CodeRun;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FileEntry;
import java.io.IOException;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The box of a tenant as the place of a run of code, and the client that waits for the run. */
final class TenantPlace implements CodeRun.Place<TenantExec> {
  private final BoxRegistry boxes;
  private final TenantBox box;
  private final ClientWait wait;
  private final BooleanSupplier hasLeft;
  private final boolean isNew;

  /** The permit that admitted the box, until its first command starts. */
  private @Nullable Permit permit;

  private TenantPlace(BoxRegistry boxes, TenantBox box, RunClient client, @Nullable Permit permit) {
    this.boxes = boxes;
    this.box = box;
    this.permit = permit;
    isNew = permit != null;
    wait = new ClientWait(client);
    hasLeft = client::hasLeft;
  }

  /** Uses an existing box. */
  static TenantPlace of(BoxRegistry boxes, TenantBox box, RunClient client) {
    return new TenantPlace(boxes, box, client, null);
  }

  /** Uses a box that was made for the run; the caller closes the permit in any case. */
  static TenantPlace ofNew(BoxRegistry boxes, TenantBox box, RunClient client, Permit permit) {
    return new TenantPlace(boxes, box, client, permit);
  }

  @Override
  public BoxFiles files() {
    return box.files();
  }

  @Override
  public boolean isNew() {
    return isNew;
  }

  @Override
  public Optional<FileEntry> placed() {
    return box.placed();
  }

  @Override
  public boolean hasMounts() {
    return !box.order().spec().mounts().isEmpty();
  }

  @Override
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return wait.hasRoomFor(bytes);
  }

  @Override
  public void use(CodeRun.Work work) throws IOException, InterruptedException {
    if (permit == null) {
      boxes.useFiles(box, work::run, hasLeft);
    } else {
      box.use(work::run);
    }
  }

  /** ORDER: the permit of the box ends with its first command. */
  @Override
  public TenantExec start(ExecSpec spec) throws InterruptedException {
    Permit first = permit;
    if (first == null) {
      return boxes.start(box, spec, hasLeft);
    }
    permit = null;
    try (first) {
      return boxes.startAdmitted(box, spec);
    }
  }

  @Override
  public Exec exec(TenantExec started) {
    return started.exec();
  }

  /** The thread that waits for the program holds the memory of its input meanwhile. */
  @Override
  public void feed(TenantExec started, byte[] input) {
    started.feed(input, box.claim());
  }

  @Override
  public ExecResult await(TenantExec compiler) throws IOException, InterruptedException {
    wait.await(compiler);
    return result(compiler);
  }

  @Override
  public ExecResult follow(TenantExec program) throws IOException, InterruptedException {
    wait.follow(program);
    return result(program);
  }

  private ExecResult result(TenantExec exec) {
    return switch (exec.ending().orElseThrow()) {
      case TenantExec.Ending.Result(var result, _) -> result;
      case TenantExec.Ending.Refused(var reason, _) -> throw boxes.explain(reason, exec);
    };
  }
}
