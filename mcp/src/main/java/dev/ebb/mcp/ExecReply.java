package dev.ebb.mcp;

import dev.ebb.model.OutputLoss;
import dev.ebb.server.service.TenantExec;
import java.util.Map;

/** What is told of a command: for a model, and for a program. */
final class ExecReply {
  /** How much of each stream a model is shown at a time. */
  static final int OUTPUT = 64 * 1024;

  static final int OUTPUT_MOST = 1 << 20;

  private ExecReply() {}

  static final Map<String, Object> STDOUT_OFFSET =
      Schema.whole("where to read on in stdout, by process_output");

  static final Map<String, Object> STDERR_OFFSET =
      Schema.whole("where to read on in stderr, by process_output");

  static Schema schema() {
    return core().needs("stdoutOffset", STDOUT_OFFSET).needs("stderrOffset", STDERR_OFFSET);
  }

  /** Of whatever wrote something, also where nobody can read on. */
  static Schema core() {
    return Schema.object()
        .needs("box", Schema.text("id of the box it ran in"))
        .needs("process", Schema.whole("its number in that box"))
        .needs("running", Schema.flag("whether it still runs"))
        .has(
            "status",
            Schema.text(
                "how it ended: exited, killed, timed-out, out-of-memory, output-limit, output-lost,"
                    + " not-started, lost or stuck"))
        .has("exitCode", Schema.whole("as a shell has it: 124 for a timeout, 128+n for signal n"))
        .has("durationMillis", Schema.whole("how long it ran"))
        .needs("stdout", Schema.text("its standard output, or the asked part of it"))
        .needs("stderr", Schema.text("its standard error, or the asked part of it"))
        .needs("truncated", Schema.flag("whether there is more to read, or some was dropped"))
        .has("lost", lostSchema());
  }

  private static Map<String, Object> lostSchema() {
    return Schema.object()
        .needs("stdoutBytes", Schema.whole("of stdout, after what is there"))
        .needs("stderrBytes", Schema.whole("of stderr, after what is there"))
        .needs("reason", Schema.text("why: the host could not store it"))
        .build();
  }

  /** Output that could not be stored: said in the text, and for programs. */
  static String addLoss(Map<String, Object> structured, OutputLoss loss) {
    if (!loss.isAny()) {
      return "";
    }
    structured.put(
        "lost",
        Reply.object(
            "stdoutBytes", loss.stdout(), "stderrBytes", loss.stderr(), "reason", loss.reason()));
    return "\n[output is incomplete: " + loss.describe() + "]";
  }

  /** What a command wrote from there on, and how it ended. */
  static Reply of(TenantExec exec, long stdoutFrom, long stderrFrom, int most) {
    boolean isRunning = exec.isRunning();
    Excerpt stdout = Excerpt.of(exec.exec().stdout(), stdoutFrom, most);
    Excerpt stderr = Excerpt.of(exec.exec().stderr(), stderrFrom, most);
    var structured =
        Reply.object("box", exec.box().id(), "process", exec.number(), "running", isRunning);
    boolean isDropped = false;
    String lost = "";
    String head = "process " + exec.number() + " is running";
    if (exec.ending().orElse(null) instanceof TenantExec.Ending.Result(var result, _)) {
      structured.put("status", result.cause().status());
      structured.put("exitCode", result.cause().code());
      structured.put("durationMillis", result.wall().toMillis());
      isDropped = result.truncated();
      lost = addLoss(structured, result.loss());
      if (isDropped) {
        lost += "\n[output above the limit was cut]";
      }
      head =
          "%s, exit code %d, after %d ms (process %d)"
              .formatted(
                  result.cause().status(),
                  result.cause().code(),
                  result.wall().toMillis(),
                  exec.number());
    }
    structured.put("stdout", stdout.text());
    structured.put("stderr", stderr.text());
    structured.put("stdoutOffset", stdout.next());
    structured.put("stderrOffset", stderr.next());
    structured.put("truncated", isDropped || stdout.isCut() || stderr.isCut());
    return new Reply(head + block("stdout", stdout) + block("stderr", stderr) + lost, structured);
  }

  private static String block(String name, Excerpt excerpt) {
    if (excerpt.text().isEmpty() && !excerpt.isCut()) {
      return "";
    }
    String more =
        excerpt.isCut()
            ? "\n[%s goes on: process_output with %sOffset %d; %d bytes in all]"
                .formatted(name, name, excerpt.next(), excerpt.size())
            : "";
    return "\n" + name + ":\n" + excerpt.text() + more;
  }
}
