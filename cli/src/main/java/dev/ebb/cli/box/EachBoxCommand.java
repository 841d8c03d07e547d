package dev.ebb.cli.box;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.daemon.DaemonFailure;
import dev.ebb.cli.option.ExecOptions;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.ExitCode;
import dev.ebb.client.Boxes;
import dev.ebb.client.Certificate;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Exec;
import dev.ebb.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** Commands on each of several boxes: stop, rm, pause, resume, kill-all. */
public final class EachBoxCommand {
  private final String verb;
  private final Caller caller;
  private final ParseResult parsed;

  private EachBoxCommand(Caller caller, String verb, ParseResult parsed) {
    this.verb = verb;
    this.caller = caller;
    this.parsed = parsed;
  }

  public static CommandSpec spec(String verb) {
    CommandSpec spec = Options.command(verb, description(verb));
    if (verb.equals("stop") || verb.equals("kill-all")) {
      spec.addOption(
          Options.duration(
              "--grace", "grace period before SIGKILL; 0: SIGKILL at once (default: 5s)"));
    }
    if (verb.equals("rm")) {
      spec.addOption(
          Options.flag("stop the box first if it runs; ignore unknown boxes", "-f", "--force"));
    }
    if (verb.equals("rm") || verb.equals("stop")) {
      spec.addOption(Options.flag("print the name instead of the certificate", "-q", "--quiet"));
    }
    if (!verb.equals("pause") && !verb.equals("resume")) {
      spec.addOption(Options.noWait());
    }
    return spec.addOption(Options.json())
        .addPositional(Options.positional("BOX...", "1..*", "ids or names"));
  }

  private static String description(String verb) {
    return switch (verb) {
      case "stop" -> "Stop boxes: end their commands, then the boxes.";
      case "rm" -> "Remove boxes that are gone from the list.";
      case "pause" -> "Freeze all processes of boxes.";
      case "resume" -> "Resume frozen boxes.";
      case "kill-all" -> "End all commands of boxes; the boxes stay.";
      default -> throw new IllegalStateException(verb);
    };
  }

  /** Goes on after a box that failed, as rm(1) does. */
  public static int run(Caller caller, String verb, ParseResult parsed) throws IOException {
    var command = new EachBoxCommand(caller, verb, parsed);
    List<String> boxes =
        Options.words(parsed).stream().map(box -> Options.box(parsed, box)).toList();
    int code = 0;
    try (EbbClient client = DaemonConnection.open(caller)) {
      for (String box : boxes) {
        try {
          code = Math.max(code, command.apply(client.boxes(), box));
        } catch (EbbException e) {
          int failure = DaemonFailure.print(caller, e, parsed.hasMatchedOption("--json"));
          code = Math.max(code, command.isNoFailure(e) ? 0 : failure);
        }
      }
    }
    return code;
  }

  /** As with rm(1) and docker, -f of an unknown box succeeds. */
  private boolean isNoFailure(EbbException e) {
    return verb.equals("rm") && parsed.hasMatchedOption("--force") && e.status() == 404;
  }

  private int remove(Boxes boxes, String box) throws IOException {
    boolean force = parsed.hasMatchedOption("--force");
    if (force && !waits()) {
      return done(box, JsonObject.empty().with("id", boxes.beginRemove(box)), null);
    }
    var removed = boxes.remove(box, force);
    var document =
        JsonObject.empty().with("id", removed.subject()).with("certificate", removed.document());
    return done(box, document, removed);
  }

  private int apply(Boxes boxes, String box) throws IOException {
    return switch (verb) {
      case "pause" -> done(box, boxes.pause(box).document(), null);
      case "resume" -> done(box, boxes.resume(box).document(), null);
      case "stop" -> {
        Duration grace = ExecOptions.grace(parsed);
        var stopped = waits() ? boxes.stop(box, grace) : boxes.beginStop(box, grace);
        yield done(box, stopped.document(), stopped.certificate());
      }
      case "rm" -> remove(boxes, box);
      case "kill-all" -> {
        Duration grace = ExecOptions.grace(parsed);
        List<Exec> ended = waits() ? boxes.killAll(box, grace) : boxes.beginKillAll(box, grace);
        var documents = ended.stream().map(Exec::document).toList();
        yield done(box, JsonObject.empty().with("execs", documents), null);
      }
      default -> throw new IllegalStateException(verb);
    };
  }

  private boolean waits() {
    return !parsed.hasMatchedOption("--no-wait");
  }

  /** Prints the result; a box of which something is left is a failure. */
  private int done(String box, JsonObject document, @Nullable Certificate certificate) {
    caller.out().println(parsed.hasMatchedOption("--json") ? document : words(box, certificate));
    if (certificate == null || certificate.clean()) {
      return 0;
    }
    caller.err().println("ebb: " + box + " is stuck; see ebb why " + box);
    return ExitCode.OWN_FAILURE;
  }

  private String words(String box, @Nullable Certificate certificate) {
    return certificate == null || parsed.hasMatchedOption("--quiet") ? box : certificate.toString();
  }
}
