package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.TestHost;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs {@code ./ebb} on a terminal, as a person does; python owns the pseudoterminal. */
final class Pty {
  /**
   * Waits until the terminal is raw, if keys are to go to the command, or for a while, if it is our
   * own that is to be interrupted; then types, or hangs up, and prints the exit code and the rest.
   */
  private static final String DRIVER =
      """
      import os, pty, select, sys, termios, time
      when, keys, words = sys.argv[1], sys.argv[2].encode().decode("unicode_escape").encode(), sys.argv[3:]
      pid, terminal = pty.fork()
      if pid == 0:
          os.execv(words[0], words)
      def isRaw():
          return not termios.tcgetattr(terminal)[3] & termios.ICANON
      said, start, typed = b"", time.monotonic(), False
      while time.monotonic() - start < 30:
          if not typed and (isRaw() if when == "raw" else time.monotonic() - start > float(when)):
              typed = True
              if not keys:
                  os.close(terminal)
                  break
              os.write(terminal, keys)
          if select.select([terminal], [], [], 0.005)[0]:
              try:
                  chunk = os.read(terminal, 65536)
              except OSError:
                  break
              if not chunk:
                  break
              said += chunk
      else:
          os.kill(pid, 9)
      print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
      sys.stdout.flush()
      os.write(1, said)
      """;

  /**
   * Sets one window size, and another once the command printed the first; ends when it printed
   * both.
   */
  private static final String RESIZER =
      """
      import fcntl, os, pty, select, struct, sys, termios, time
      def resize(terminal, rows, columns):
          fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
      pid, terminal = pty.fork()
      if pid == 0:
          resize(0, 30, 100)
          os.execv(sys.argv[1], sys.argv[1:])
      said, start, resized = b"", time.monotonic(), False
      while time.monotonic() - start < float(os.environ["PATIENCE"]):
          if not resized and b"30 100" in said:
              resize(terminal, 50, 132)
              resized = True
          if select.select([terminal], [], [], 0.005)[0]:
              try:
                  said += os.read(terminal, 65536)
              except OSError:
                  break
      else:
          os.kill(pid, 9)
      print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
      sys.stdout.flush()
      os.write(1, said)
      """;

  private Pty() {}

  /** The result of a run; a code below zero is a signal. */
  record Outcome(int code, String output) {}

  /**
   * Runs it.
   *
   * @param when "raw", or after so many seconds
   * @param keys with python's escapes; none to hang up
   */
  static Outcome run(Path home, String when, String keys, String... arguments) throws Exception {
    return drive(home, List.of("python3", "-c", DRIVER, when, keys), arguments);
  }

  /** Hangs up when the terminal is raw; SIGHUP is ignored, as below {@code nohup}. */
  static Outcome hangUpIgnored(Path home, String... arguments) throws Exception {
    var driver = List.of("env", "--ignore-signal=HUP", "python3", "-c", DRIVER, "raw", "");
    return drive(home, driver, arguments);
  }

  /**
   * Runs it in a window of 30 rows and 100 columns, then 50 and 132 when it has printed the first.
   */
  static Outcome resize(Path home, String... arguments) throws Exception {
    return drive(home, List.of("python3", "-c", RESIZER), arguments);
  }

  private static Outcome drive(Path home, List<String> driver, String... arguments)
      throws Exception {
    var words = new ArrayList<>(driver);
    words.add(TestHost.root().resolve("ebb").toString());
    words.addAll(List.of(arguments));
    var builder = new ProcessBuilder(words).redirectErrorStream(true);
    builder.environment().put("EBB_HOME", home.toString());
    builder.environment().put("EBB_BUILD", "never");
    Ways.addTo(builder.environment());
    builder.environment().put("PATIENCE", Long.toString(DaemonProcess.PATIENCE.toSeconds()));
    Process process = builder.start();
    String said = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    int line = said.indexOf('\n');
    return new Outcome(Integer.parseInt(said.substring(0, line)), said.substring(line + 1));
  }
}
