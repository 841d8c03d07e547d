package dev.ebb.cli;

import dev.ebb.box.Box;
import dev.ebb.box.BoxSpec;
import dev.ebb.box.ErrorCode;
import dev.ebb.box.SandboxException;
import dev.ebb.engine.Engine;
import dev.ebb.exec.Exec;
import dev.ebb.exec.ExecResult;
import dev.ebb.exec.ExecSpec;
import dev.ebb.ledger.Certificate;
import dev.ebb.process.ExitCause;
import dev.ebb.process.StuckProcess;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb run}: one command in a box of its own, attached to our own streams. */
final class RunCommand {
  private static final int CHUNK = 64 * 1024;
  private static final int SIGPIPE_CODE = 141;

  private final ParseResult parsed;
  private final RunOptions options;
  private final Interruption interruption = new Interruption(Thread.currentThread());

  RunCommand(ParseResult parsed) {
    this.parsed = parsed;
    options = new RunOptions(parsed);
  }

  static CommandSpec spec() {
    return RunOptions.spec();
  }

  int run() throws InterruptedException, IOException {
    if (options.isDetached() || options.hasTerminal()) {
      return new DaemonRun(parsed).run();
    }
    BoxSpec boxSpec = options.box();
    ExecSpec execSpec = options.exec();
    interruption.install();
    try (Engine engine = Engine.openForProcess()) {
      tellRecovered(engine);
      return run(engine, boxSpec, execSpec);
    } catch (SandboxException e) {
      if (e.code() == ErrorCode.INTERRUPTED && interruption.code() != 0) {
        return interruption.code();
      }
      if (options.json()) {
        System.out.println(Json.error(e));
        return Main.OWN_FAILURE;
      }
      throw e;
    }
  }

  private int run(Engine engine, BoxSpec boxSpec, ExecSpec execSpec) throws InterruptedException {
    Box box = engine.create(boxSpec);
    ExecResult result;
    boolean outputLost;
    var stdout = new ByteArrayOutputStream();
    var stderr = new ByteArrayOutputStream();
    try {
      Exec exec = engine.start(box, execSpec);
      interruption.attach(exec, execSpec.grace());
      pumpInput(exec);
      outputLost =
          !(options.json()
              ? follow(exec, stdout, stderr)
              : follow(
                  exec,
                  new FileOutputStream(FileDescriptor.out),
                  new FileOutputStream(FileDescriptor.err)));
      if (outputLost) {
        exec.kill(execSpec.grace());
      }
      result = exec.await();
    } finally {
      engine.release(box);
    }
    Certificate certificate = engine.release(box);
    if (options.json()) {
      System.out.println(
          Json.result(box, result, stdout.toByteArray(), stderr.toByteArray(), certificate));
    }
    tell(boxSpec, execSpec, result, certificate);
    if (!certificate.isClean() || result.loss().isAny()) {
      return Main.OWN_FAILURE;
    }
    return outputLost ? SIGPIPE_CODE : interruption.code(result.cause().code());
  }

  /** Copies our stdin; the thread ends with the process, which is why nobody waits for it. */
  private static void pumpInput(Exec exec) {
    Thread.ofPlatform()
        .name("ebb-stdin")
        .daemon()
        .start(
            () -> {
              var stdin = exec.stdin().orElseThrow();
              byte[] chunk = new byte[CHUNK];
              try (var in = new FileInputStream(FileDescriptor.in)) {
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
            });
  }

  /** Copies both streams until they end; false when whoever reads ours has gone. */
  private static boolean follow(Exec exec, OutputStream out, OutputStream err)
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
        say(OwnOutput.words(e));
      }
      return false;
    }
  }

  private void tellRecovered(Engine engine) {
    if (options.verbose()) {
      engine.recovered().forEach(finding -> say("left by a dead runtime: " + finding));
    }
  }

  private void tell(
      BoxSpec boxSpec, ExecSpec execSpec, ExecResult result, Certificate certificate) {
    if (!options.quiet()) {
      explain(boxSpec, execSpec, result.cause());
      if (result.usage().pidsRefused() > 0) {
        say(
            "the limit of %d processes refused a fork %d times (--pids)"
                .formatted(boxSpec.limits().pids(), result.usage().pidsRefused()));
      }
      result
          .leftovers()
          .kept()
          .forEach(kept -> say("kept until the end: pid " + kept.pid() + " " + kept.command()));
      if (result.loss().isAny()) {
        say("output was lost: " + result.loss().describe());
      }
      if (!certificate.isClean()) {
        say(certificate.toString());
      }
    }
    if (options.verbose()) {
      say(
          "%s, wall %d ms, cpu %d ms, peak memory %d KiB, peak pids %d"
              .formatted(
                  result.cause(),
                  result.wall().toMillis(),
                  result.usage().cpu().toMillis(),
                  result.usage().peakMemoryBytes() >> 10,
                  result.usage().peakPids()));
      say(certificate.toString());
    }
  }

  /** A word about every end that is not the command's own. */
  private static void explain(BoxSpec boxSpec, ExecSpec execSpec, ExitCause cause) {
    switch (cause) {
      case ExitCause.Exited _,
          ExitCause.Signalled _,
          ExitCause.Killed _,
          ExitCause.OutputLost _ -> {}
      case ExitCause.TimedOut _ ->
          say("timed out after " + execSpec.timeout().toMillis() + " ms (--timeout)");
      case ExitCause.OutOfMemory _ ->
          say("out of memory: the limit is " + boxSpec.limits().memory() + " (--memory)");
      case ExitCause.OutputLimit _ ->
          say("stopped at the output limit of " + execSpec.outputLimit() + " (--output-limit)");
      case ExitCause.NotStarted(_, var reason) -> say(reason);
      case ExitCause.Lost _ -> say("the box died under the command");
      case ExitCause.Stuck(var processes) ->
          say("outlived SIGKILL: " + StuckProcess.describe(processes));
    }
  }

  private static void say(String message) {
    System.err.println("ebb: " + message);
  }
}
