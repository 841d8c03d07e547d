package dev.ebb.engine;

import dev.ebb.admission.Permit;
import dev.ebb.box.Box;
import dev.ebb.code.CodeRun;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FileEntry;
import java.io.IOException;
import java.util.Optional;

/** A new box of an embedding program, in which code is run. */
final class EnginePlace implements CodeRun.Place<Exec> {
  private final Box box;
  private final BoxFiles files;
  private final Permit permit;

  /** Closes {@code permit} when the first command has started. */
  EnginePlace(Box box, Permit permit) {
    this.box = box;
    this.permit = permit;
    files = new BoxFiles(box);
  }

  @Override
  public BoxFiles files() {
    return files;
  }

  @Override
  public boolean isNew() {
    return true;
  }

  @Override
  public Optional<FileEntry> placed() {
    return Optional.empty();
  }

  @Override
  public boolean hasMounts() {
    return !box.spec().mounts().isEmpty();
  }

  @Override
  public boolean hasRoomFor(long bytes) {
    return true;
  }

  @Override
  public void use(CodeRun.Work work) throws IOException, InterruptedException {
    work.run();
  }

  @Override
  public Exec start(ExecSpec spec) {
    Exec started = Exec.start(box, spec);
    permit.close();
    return started;
  }

  @Override
  public Exec exec(Exec started) {
    return started;
  }

  /** Blocks until the program has read its input or has ended. */
  @Override
  public void feed(Exec started, byte[] input) {
    started
        .stdin()
        .ifPresent(
            stdin ->
                Thread.ofVirtual()
                    .name("ebb-input-" + box.id() + "-" + started.number())
                    .start(
                        () -> {
                          try {
                            stdin.write(input, 0, input.length);
                            stdin.close();
                          } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                          }
                        }));
  }

  @Override
  public ExecResult await(Exec compiler) throws InterruptedException {
    return compiler.await();
  }

  @Override
  public ExecResult follow(Exec program) throws InterruptedException {
    return program.await();
  }
}
