package dev.ebb.cli.watch;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.option.Options;
import dev.ebb.cli.output.Table;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** A table that is drawn anew until Ctrl-C; once where there is no terminal. */
final class Screen {
  private static final String HOME_AND_CLEAR = "\u001b[H\u001b[2J";
  private static final Duration PERIOD = Duration.ofSeconds(1);

  private final Caller caller;
  private final boolean once;
  private final CountDownLatch over = new CountDownLatch(1);

  Screen(Caller caller, ParseResult parsed) {
    this.caller = caller;
    once = parsed.hasMatchedOption("--no-stream") || !caller.isTerminal(Terminal.Stream.STDOUT);
  }

  /** Draws what is shown. */
  interface View {
    Table draw() throws IOException;
  }

  static CommandSpec addTo(CommandSpec spec) {
    return spec.addOption(Options.flag("print once and exit", "--no-stream"));
  }

  boolean isShownOnce() {
    return once;
  }

  /** True when it was ended meanwhile. */
  boolean pause() throws InterruptedException {
    return over.await(PERIOD.toMillis(), TimeUnit.MILLISECONDS);
  }

  int show(View view) throws IOException, InterruptedException {
    if (once) {
      view.draw().print(caller.out());
      return 0;
    }
    caller.onSignals(List.of("INT"), _ -> over.countDown());
    do {
      Table table = view.draw();
      caller.ownOut().print(HOME_AND_CLEAR);
      caller.ownOut().flush();
      table.print(caller.out());
      caller.out().flush();
    } while (!pause());
    return 0;
  }
}
