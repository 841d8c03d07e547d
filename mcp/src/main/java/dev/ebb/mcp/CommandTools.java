package dev.ebb.mcp;

import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.SandboxException;
import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.answer.ExecState;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Patience;
import dev.ebb.server.http.Problem;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.service.CommandTask;
import dev.ebb.server.service.ExecSignal;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Commands: runs them to their end, or starts, inspects and kills them. */
final class CommandTools {
  private static final Duration RUN_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration LADDER_SLACK = Duration.ofSeconds(30);
  private static final int WAIT_MOST = 60_000;
  private static final List<String> SIGNALS =
      List.of("TERM", "KILL", "INT", "HUP", "QUIT", "USR1", "USR2");

  /** The answer of start_process. */
  private static final ObjectSchema<ExecState> STARTED = ExecAnswers.EXEC.only("box", "number");

  private final Workplace workplace;

  CommandTools(Workplace workplace) {
    this.workplace = workplace;
  }

  List<Tool> all() {
    return List.of(
        new Tool(
            "run_command",
            "Run a shell command",
            """
            Runs a command line by bash in a box, waits for its end and returns what it wrote. \
            Files and installed state of the box stay between calls; variables and the working \
            directory do not. Background processes it leaves are killed when it ends: use \
            start_process for those. A failing command is no error of this tool: look at status \
            and exitCode. Cancelling the call kills the whole process tree.\
            """,
            commandSchema()
                .has(
                    "timeoutMillis", Schema.whole("killed after this time; default 60000", 0, LONG))
                .build(),
            Schema.of(ExecReply.schema()),
            Tool.Hint.CHANGES,
            this::run),
        new Tool(
            "start_process",
            "Start a process",
            """
            Starts a command line by bash in the background of a box and returns at once, with \
            the number by which process_output and kill_process know it. For servers, watchers \
            and anything that takes longer than a call should. It ends with its box at the latest.\
            """,
            commandSchema()
                .has(
                    "timeoutMillis",
                    Schema.whole("killed after this time; default 0: no limit of its own", 0, LONG))
                .build(),
            Schema.of(STARTED),
            Tool.Hint.ADDS,
            this::start),
        new Tool(
            "process_output",
            "Read the output of a process",
            """
            Returns what a process wrote from the given offsets on, whether it still runs, and how \
            it ended. Works for every command of the box, also those of run_command, so it reads on \
            where an output was cut. With waitMillis it waits for news instead of returning at once.\
            """,
            processSchema()
                .has("stdoutOffset", Schema.whole("bytes of stdout to skip; default 0", 0, LONG))
                .has("stderrOffset", Schema.whole("bytes of stderr to skip; default 0", 0, LONG))
                .has(
                    "limitBytes",
                    Schema.whole(
                        "most bytes of each stream; default 65536", 1, ExecReply.OUTPUT_MOST))
                .has(
                    "waitMillis",
                    Schema.whole("how long to wait for more output; default 0", 0, WAIT_MOST))
                .build(),
            Schema.of(ExecReply.schema()),
            Tool.Hint.READS,
            this::output),
        new Tool(
            "kill_process",
            "Kill a process",
            """
            Ends a process with everything it started. TERM and KILL wait until the whole tree is \
            gone: TERM first asks, and after the grace kills. Other signals are just delivered. \
            Killing what has ended already is fine.\
            """,
            processSchema()
                .has("signal", Schema.oneOf("default TERM", SIGNALS))
                .has(
                    "graceMillis",
                    Schema.whole("time between TERM and KILL; default 5000", 0, WAIT_MOST))
                .has(
                    "wait",
                    Schema.flag("false returns at once, while the process ends; default true"))
                .build(),
            Schema.of(ExecReply.schema()),
            Tool.Hint.REPLACES,
            this::kill));
  }

  /** The longest that any time may be. */
  private static final long LONG = Duration.ofDays(3650).toMillis();

  // --- schemas ---

  private static Schema commandSchema() {
    return Schema.object()
        .needs("command", Schema.text("a command line for bash"))
        .has("workdir", Schema.text("where it starts; default /workspace"))
        .has("environment", Schema.textMap("more environment variables"))
        .has("stdin", Schema.text("what it reads from its standard input; default nothing"))
        .has("box", Workplace.BOX);
  }

  private static Schema processSchema() {
    return Schema.object()
        .needs("process", Schema.whole("its number, from start_process or run_command", 1, LONG))
        .has("box", Workplace.BOX);
  }

  // --- start ---

  /** A requested command, and its input. */
  private record Order(CommandTask task, Optional<String> box) {}

  private Order order(Fields arguments, Duration timeout) {
    String line = Workplace.required(arguments, "command");
    Optional<byte[]> input = arguments.text("stdin").map(text -> Fields.utf8("stdin", text));
    ExecSpec spec =
        workplace
            .caps()
            .cap(ExecSpec.of("bash", "-c", line))
            .withTimeout(arguments.limit("timeoutMillis", timeout, workplace.caps().timeout()))
            .withEnvironment(arguments.textMap("environment"));
    Optional<String> workdir = arguments.text("workdir");
    spec = workdir.isPresent() ? spec.withWorkdir(workdir.get()) : spec;
    spec = input.isPresent() ? spec.withInput() : spec;
    Optional<String> box = arguments.text("box");
    arguments.end();
    return new Order(new CommandTask(spec, input), box);
  }

  private TenantBox box(Call call, Order order) throws IOException, InterruptedException {
    TenantBox box = workplace.box(call, order.box());
    call.requireWanted();
    return box;
  }

  private Reply run(Call call, Fields arguments) throws IOException, InterruptedException {
    Order order = order(arguments, RUN_TIMEOUT);
    TenantExec exec = workplace.runs().run(box(call, order), order.task(), call);
    return ExecReply.of(exec, 0, 0, ExecReply.OUTPUT);
  }

  private Reply start(Call call, Fields arguments) throws IOException, InterruptedException {
    Order order = order(arguments, Duration.ZERO);
    TenantExec exec = workplace.runs().start(box(call, order), order.task(), call);
    return new Reply(
        "process %d runs in box %s; read it by process_output, end it by kill_process"
            .formatted(exec.number(), exec.box().id()),
        STARTED.write(ExecState.of(exec)));
  }

  // --- look, and end ---

  private static int number(Fields arguments) {
    return (int)
        arguments
            .number("process", 1, Integer.MAX_VALUE)
            .orElseThrow(() -> new Problem(Problem.Code.BAD_REQUEST, "\"process\" is missing"));
  }

  private Reply output(Call call, Fields arguments) throws IOException, InterruptedException {
    long stdout = arguments.number("stdoutOffset", 0, Long.MAX_VALUE).orElse(0);
    long stderr = arguments.number("stderrOffset", 0, Long.MAX_VALUE).orElse(0);
    int limit =
        (int) arguments.number("limitBytes", 1, ExecReply.OUTPUT_MOST).orElse(ExecReply.OUTPUT);
    long wait = arguments.number("waitMillis", 0, WAIT_MOST).orElse(0);
    int number = number(arguments);
    Optional<String> box = arguments.text("box");
    arguments.end();
    TenantExec exec = workplace.known(call, box).exec(number);
    awaitOutput(call, exec, stdout, stderr, Duration.ofMillis(wait));
    return ExecReply.of(exec, stdout, stderr, limit);
  }

  private static void awaitOutput(
      Call call, TenantExec exec, long stdout, long stderr, Duration wait)
      throws IOException, InterruptedException {
    Patience patience = Patience.of(wait);
    while (exec.isRunning()
        && exec.view().stdout().size() <= stdout
        && exec.view().stderr().size() <= stderr) {
      Duration left = patience.left();
      if (patience.isOver()) {
        exec.awaitSurely(Duration.ZERO);
        return;
      }
      Duration turn = left.compareTo(EventStream.HEARTBEAT) < 0 ? left : EventStream.HEARTBEAT;
      if (!exec.view().awaitOutput(stdout, stderr, turn)) {
        exec.await(turn);
      }
      call.requireWanted();
      if (left.compareTo(EventStream.HEARTBEAT) > 0) {
        call.beat();
      }
    }
  }

  private Reply kill(Call call, Fields arguments) throws IOException, InterruptedException {
    String word = arguments.text("signal").orElse("TERM");
    long wanted =
        arguments.number("graceMillis", 0, WAIT_MOST).orElse(ExecSpec.DEFAULT_GRACE.toMillis());
    Duration grace = workplace.caps().grace(Duration.ofMillis(wanted));
    if (!SIGNALS.contains(word)) {
      throw new Problem(
          Problem.Code.BAD_REQUEST, "\"signal\" must be one of " + String.join(", ", SIGNALS));
    }
    boolean wait = arguments.flag("wait", true);
    int number = number(arguments);
    Optional<String> box = arguments.text("box");
    arguments.end();
    TenantExec exec = workplace.known(call, box).exec(number);
    ExecSignal signal = ExecSignal.of(word).orElseThrow();
    signal.send(exec, grace);
    if (wait && signal.isEnding()) {
      awaitEnd(call, exec, signal.grace(grace));
    }
    return ExecReply.of(
        exec, exec.view().stdout().size(), exec.view().stderr().size(), ExecReply.OUTPUT);
  }

  private static void awaitEnd(Call call, TenantExec exec, Duration grace)
      throws IOException, InterruptedException {
    Patience patience = Patience.of(grace.plus(LADDER_SLACK));
    while (exec.awaitSurely(EventStream.HEARTBEAT).isEmpty()) {
      if (patience.isOver()) {
        throw new SandboxException(
            ErrorCode.TIMED_OUT, "process " + exec.number() + " does not end");
      }
      call.beat();
    }
  }
}
