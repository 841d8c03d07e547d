package dev.ebb.mcp;

import dev.ebb.model.ExecResult;
import dev.ebb.model.OutputLoss;
import dev.ebb.server.answer.ExecAnswers;
import dev.ebb.server.answer.ExecState;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Value;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.TenantExec;
import java.util.Optional;

/** The reply about a command, for a model and for a program. */
final class ExecReply {
  /** How much of each stream a model gets at a time. */
  static final int OUTPUT = 64 * 1024;

  static final int OUTPUT_MOST = 1 << 20;

  private ExecReply() {}

  // --- for a program ---

  /** A command, and a part of its output. */
  private record Shown(ExecState state, Excerpt stdout, Excerpt stderr) {
    boolean isDropped() {
      return state.result().filter(ExecResult::truncated).isPresent();
    }

    boolean isTruncated() {
      return isDropped() || stdout.isCut() || stderr.isCut();
    }
  }

  static final Value<Excerpt> STDOUT =
      Excerpt.OUTPUT.described("its standard output, or the asked part of it");
  static final Value<Excerpt> STDERR =
      Excerpt.OUTPUT.described("its standard error, or the asked part of it");
  static final Value<Boolean> TRUNCATED =
      Values.FLAG.described("whether there is more to read, or some was dropped");

  private static final Value<Number> OFFSET =
      Values.COUNT.described("where to read on, by process_output");

  /** Members of the answer of REST, and the offsets at which to continue. */
  private static final ObjectSchema<Shown> EXEC =
      ObjectSchema.<Shown>inline()
          .includes(
              ExecAnswers.EXEC.only(
                  "box",
                  "number",
                  "state",
                  "status",
                  "exitCode",
                  "durationMillis",
                  "lost",
                  "inputCut"),
              Shown::state)
          .has("stdout", STDOUT, Shown::stdout)
          .has("stderr", STDERR, Shown::stderr)
          .has("stdoutOffset", OFFSET, shown -> shown.stdout().next())
          .has("stderrOffset", OFFSET, shown -> shown.stderr().next())
          .has("truncated", TRUNCATED, Shown::isTruncated);

  static ObjectSchema<?> schema() {
    return EXEC;
  }

  // --- for a model ---

  /** Output that could not be stored. */
  static String lost(Optional<OutputLoss> lost) {
    return lost.map(loss -> "\n[output is incomplete: " + loss.describe() + "]").orElse("");
  }

  /** Makes the reply with the output from these offsets on, and the end of the command. */
  static Reply of(TenantExec exec, long stdoutFrom, long stderrFrom, int most) {
    ExecState state = ExecState.of(exec);
    Excerpt stdout = Excerpt.of(exec.view().stdout(), stdoutFrom, most);
    Excerpt stderr = Excerpt.of(exec.view().stderr(), stderrFrom, most);
    var shown = new Shown(state, stdout, stderr);
    String lost = lost(state.lost());
    if (shown.isDropped()) {
      lost += "\n[output above the limit was cut]";
    }
    if (state.isInputCut().isPresent()) {
      lost += "\n[input was cut: the daemon that held it ended before it did]";
    }
    return new Reply(
        head(state) + block("stdout", stdout) + block("stderr", stderr) + lost, EXEC.write(shown));
  }

  private static String head(ExecState state) {
    int number = state.exec().number();
    String after =
        state.result().map(result -> ", after " + result.wall().toMillis() + " ms").orElse("");
    return state
        .cause()
        .map(
            cause ->
                "%s, exit code %d%s (process %d)"
                    .formatted(cause.status(), cause.code(), after, number))
        .orElse("process " + number + " is running");
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
