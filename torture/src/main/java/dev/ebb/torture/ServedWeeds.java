package dev.ebb.torture;

import dev.ebb.client.Box;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Exec;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.oracle.Trace;
import dev.ebb.torture.host.ServedHome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;

/** Violations that only a daemon can commit: files in the home of a real daemon cause them. */
final class ServedWeeds {
  /** How many bytes are cut from the last line of a record, which is longer. */
  private static final int TORN_BYTES = 8;

  private static final Duration ANSWER = Duration.ofSeconds(4);

  private final ServedHome daemon;

  ServedWeeds(ServedHome daemon) {
    this.daemon = daemon;
  }

  /** A box that was removed, or cannot be. */
  final class Removal implements SelfTest.Look {
    private String box;

    /** One that could. */
    Removal() throws IOException {
      box = create(BoxRequest.defaults()).id();
      daemon.client().boxes().remove(box, true);
    }

    /**
     * Ebb does not remove what is not its own, so the directory of the box stays, and the box with
     * it. A detached one has its directory from the start, for its record.
     */
    Weed.Pulling plant() throws IOException, KernelException {
      Box made = create(BoxRequest.defaults().withDetached());
      Path foreign = directory(made).resolve("foreign");
      Filesystem.mkdir(foreign, 0700);
      box = made.id();
      return () -> Filesystem.rmdir(foreign);
    }

    @Override
    public List<Trace> leaks() throws IOException {
      return Answers.removeAgain(daemon.client(), box);
    }
  }

  /** The facts about the end of a box after the daemon that observed it died. */
  final class EndRecord implements SelfTest.Look {
    private final Box stopped;
    private final Path file;
    private boolean isRemoved;

    /** One that is as it was. */
    EndRecord() throws IOException {
      Box made = create(BoxRequest.defaults().withDetached());
      file = directory(made).resolve("record");
      stopped = daemon.client().boxes().stop(made.id(), Duration.ZERO);
      daemon.restart(() -> {});
    }

    /** Its last line is torn, and that was the end of the box. */
    Weed.Pulling plant() throws IOException {
      daemon.restart(this::tear);
      return () -> {
        isRemoved = daemon.client().boxes().remove(stopped.id(), true).clean();
      };
    }

    private void tear() {
      try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.truncate(channel.size() - TORN_BYTES);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public List<Trace> leaks() throws IOException {
      return isRemoved ? List.of() : Answers.record(daemon.client(), stopped);
    }
  }

  /** A command that exited in time, or is reported as if it had not. */
  final class Timeout implements SelfTest.Look {
    private Exec reported;

    /** One that did. */
    Timeout() throws IOException {
      reported = run("exit 7").exec();
    }

    /** A command that exceeded its timeout stands for a command that is reported so. */
    Weed.Pulling plant() throws IOException {
      Exec before = reported;
      reported = run("sleep 60").exec();
      return () -> reported = before;
    }

    @Override
    public List<Trace> leaks() {
      return Truth.inTime(reported, 7);
    }
  }

  /** The output of a command, complete, or less than is reported. */
  final class ShortOutput implements SelfTest.Look {
    private static final int WRITTEN = 30_000;

    private final Result whole;
    private int expected = WRITTEN;

    ShortOutput() throws IOException {
      whole = run("head -c " + WRITTEN + " /dev/zero | tr '\\0' x");
    }

    /** Claims one more byte than was written. */
    Weed.Pulling plant() {
      expected = WRITTEN + 1;
      return () -> expected = WRITTEN;
    }

    @Override
    public List<Trace> leaks() {
      return Truth.output(whole, expected);
    }
  }

  /** A daemon that answers, or does not run. */
  final class Silence implements SelfTest.Look {
    Weed.Pulling plant() throws IOException {
      daemon.signal(Signal.STOP);
      return () -> daemon.signal(Signal.CONT);
    }

    @Override
    public List<Trace> leaks() throws IOException {
      return Truth.answers(daemon::newClient, ANSWER);
    }
  }

  private Result run(String script) throws IOException {
    var command = ExecRequest.of("sh", "-c", script).withTimeout(Duration.ofSeconds(2));
    return daemon.client().run(Truth.SMALL, command);
  }

  private Box create(BoxRequest request) throws IOException {
    String id = daemon.client().boxes().create(request).id();
    return daemon.client().boxes().inspect(id);
  }

  private static Path directory(Box box) throws IOException {
    return Held.of(box).directories().stream()
        .findFirst()
        .orElseThrow(() -> new IOException("box " + box.id() + " lists no directory"));
  }
}
