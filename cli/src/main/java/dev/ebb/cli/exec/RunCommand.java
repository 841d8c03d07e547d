package dev.ebb.cli.exec;

import dev.ebb.box.Box;
import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.output.Documents;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.cli.output.OwnOutput;
import dev.ebb.cli.output.RunDocument;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.Certificate;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StuckProcess;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb run}: one command in a box of its own, attached to our own streams. */
public final class RunCommand {
  private static final int CHUNK = 64 * 1024;

  private final Caller caller;
  private final ParseResult parsed;
  private final RunOptions options;
  private final Interruption interruption = new Interruption(Thread.currentThread());

  public RunCommand(Caller caller, ParseResult parsed) {
    this.caller = caller;
    this.parsed = parsed;
    options = new RunOptions(caller, parsed);
  }

  public static CommandSpec spec() {
    return RunOptions.spec();
  }

  public int run() throws InterruptedException, IOException {
    if (options.isDetached() || options.hasTerminal()) {
      return new DaemonRun(caller, parsed).run();
    }
    if (caller.isInDaemon()) {
      return new AttachedRun(caller, parsed, options).run();
    }
    BoxSpec boxSpec = options.box();
    ExecSpec execSpec = options.exec();
    interruption.install(caller);
    try (Engine engine = Engine.openForProcess()) {
      printRecovered(engine);
      return run(engine, boxSpec, execSpec);
    } catch (SandboxException e) {
      return failed(e);
    }
  }

  /** The exit code after a failure of Ebb; Main prints what is thrown. */
  private int failed(SandboxException e) {
    if (e.code() == ErrorCode.INTERRUPTED && interruption.code() != 0) {
      return interruption.code();
    }
    if (options.json()) {
      caller.out().println(Documents.error(e));
      return ExitCode.OWN_FAILURE;
    }
    throw e;
  }

  private int run(Engine engine, BoxSpec boxSpec, ExecSpec execSpec) throws InterruptedException {
    Box box = engine.create(boxSpec);
    Attached attached;
    try {
      attached = attach(engine, box, execSpec);
    } catch (InterruptedException | RuntimeException e) {
      engine.release(box);
      throw e;
    }
    Certificate certificate = engine.release(box);
    ExecResult result = attached.result();
    if (options.json()) {
      byte[] stdout = attached.stdout().toByteArray();
      byte[] stderr = attached.stderr().toByteArray();
      String id = box.id().value();
      caller
          .out()
          .println(RunDocument.of(id, attached.exec(), result, stdout, stderr, certificate));
    }
    explain(boxSpec, execSpec, result, certificate);
    if (!certificate.isClean() || result.loss().isAny()) {
      return ExitCode.OWN_FAILURE;
    }
    return attached.isReaderGone()
        ? ExitCode.READER_GONE
        : interruption.code(result.cause().code());
  }

  /**
   * A command that has ended.
   *
   * @param stdout what it wrote, if that is part of the result, as for {@code stderr}
   * @param isReaderGone the reader of our output went away before the end
   */
  private record Attached(
      Exec exec,
      ExecResult result,
      ByteArrayOutputStream stdout,
      ByteArrayOutputStream stderr,
      boolean isReaderGone) {}

  /** Runs the command with our streams and signals, until its end. */
  private Attached attach(Engine engine, Box box, ExecSpec spec) throws InterruptedException {
    Exec exec = engine.start(box, spec);
    interruption.attach(exec, spec.grace());
    pumpInput(exec);
    var stdout = new ByteArrayOutputStream();
    var stderr = new ByteArrayOutputStream();
    boolean isWhole =
        options.json()
            ? follow(exec, stdout, stderr)
            : follow(exec, caller.rawOut(), caller.rawErr());
    if (!isWhole) {
      exec.kill(spec.grace());
    }
    return new Attached(exec, exec.await(), stdout, stderr, !isWhole);
  }

  private void pumpInput(Exec exec) {
    caller.inBackground("ebb-stdin", () -> copyInput(exec));
  }

  private void copyInput(Exec exec) {
    var stdin = exec.stdin().orElseThrow();
    byte[] chunk = new byte[CHUNK];
    try (var in = caller.in()) {
      for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
        if (!stdin.write(chunk, 0, n)) {
          return;
        }
      }
    } catch (IOException e) {
      // A closed stdin reads as an empty one.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    stdin.close();
  }

  /** Copies both streams until they end; false when the reader of our output has gone. */
  private boolean follow(Exec exec, OutputStream out, OutputStream err)
      throws InterruptedException {
    byte[] chunk = new byte[CHUNK];
    long stdout = 0;
    long stderr = 0;
    try {
      while (exec.awaitOutput(stdout, stderr)) {
        int n = exec.stdout().read(stdout, chunk);
        out.write(chunk, 0, n);
        stdout += n;
        n = exec.stderr().read(stderr, chunk);
        err.write(chunk, 0, n);
        stderr += n;
      }
      return true;
    } catch (IOException e) {
      if (!OwnOutput.isReaderGone(e)) {
        print(OwnOutput.words(e));
      }
      return false;
    }
  }

  private void printRecovered(Engine engine) {
    if (options.verbose()) {
      engine.recovered().forEach(finding -> print("left by a dead runtime: " + finding));
    }
  }

  private void explain(
      BoxSpec boxSpec, ExecSpec execSpec, ExecResult result, Certificate certificate) {
    if (!options.quiet()) {
      explain(boxSpec, execSpec, result.cause());
      warn(boxSpec, result);
      if (!certificate.isClean()) {
        print(certificate.toString());
      }
    }
    if (options.verbose()) {
      printUsage(result);
      print(certificate.toString());
    }
  }

  private void warn(BoxSpec boxSpec, ExecResult result) {
    if (result.usage().pidsRefused() > 0) {
      print(refused(boxSpec, result.usage().pidsRefused()));
    }
    result.leftovers().kept().forEach(kept -> print(kept(kept.pid() + " " + kept.command())));
    if (result.loss().isAny()) {
      print("output was lost: " + result.loss().describe());
    }
  }

  private void printUsage(ExecResult result) {
    print(
        "%s, wall %d ms, cpu %d ms, peak memory %d KiB, peak pids %d"
            .formatted(
                result.cause().describe(),
                result.wall().toMillis(),
                result.usage().cpu().toMillis(),
                result.usage().peakMemoryBytes() >> 10,
                result.usage().peakPids()));
  }

  /** Prints a line about every end that is not the command's own. */
  private void explain(BoxSpec boxSpec, ExecSpec execSpec, ExitCause cause) {
    switch (cause) {
      case ExitCause.Exited _,
          ExitCause.Signalled _,
          ExitCause.Killed _,
          ExitCause.OutputLost _ -> {}
      case ExitCause.TimedOut _ -> print(timedOut(execSpec));
      case ExitCause.OutOfMemory _ -> print(outOfMemory(boxSpec));
      case ExitCause.OutputLimit _ -> print(tooMuchOutput(execSpec));
      case ExitCause.NotStarted(_, var reason) -> print(reason);
      case ExitCause.Lost _ -> print(LOST);
      case ExitCause.Stuck(var processes) ->
          print("outlived SIGKILL: " + StuckProcess.describe(processes));
    }
  }

  // --- messages, also of a run in a daemon ---

  static final String LOST = "the box died while the command ran";

  static String refused(BoxSpec spec, long forks) {
    return "the limit of %d processes refused a fork %d times (--pids)"
        .formatted(spec.limits().pids(), forks);
  }

  static String kept(String process) {
    return "kept until the end: pid " + process;
  }

  static String timedOut(ExecSpec spec) {
    return "timed out after " + spec.timeout().toMillis() + " ms (--timeout)";
  }

  static String outOfMemory(BoxSpec spec) {
    return "out of memory: the limit is " + spec.limits().memory() + " (--memory)";
  }

  static String tooMuchOutput(ExecSpec spec) {
    return "stopped at the output limit of " + spec.outputLimit() + " (--output-limit)";
  }

  private void print(String message) {
    caller.err().println("ebb: " + message);
  }
}
