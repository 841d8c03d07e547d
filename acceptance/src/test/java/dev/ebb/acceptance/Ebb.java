package dev.ebb.acceptance;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The {@code ./ebb} of the clone, with a home of its own. */
final class Ebb {
  private static final Duration PATIENCE = TestHost.patience(Duration.ofSeconds(60));

  private final Path home;
  private final List<String> prefix;
  private final Map<String, String> environment;

  Ebb(Path home) {
    this(home, List.of(), Map.of());
  }

  /** Started by way of another command, and with more in its environment. */
  Ebb(Path home, List<String> prefix, Map<String, String> environment) {
    this.home = home;
    this.prefix = List.copyOf(prefix);
    this.environment = Map.copyOf(environment);
  }

  /** Returns this program, started by way of another command. */
  Ebb startedBy(String... command) {
    return new Ebb(home, List.of(command), environment);
  }

  /** The result of one call. */
  static final class Outcome {
    private final int code;
    private final byte[] stdout;
    private final String stderr;

    private Outcome(int code, byte[] stdout, byte[] stderr) {
      this.code = code;
      this.stdout = stdout;
      this.stderr = new String(stderr, StandardCharsets.UTF_8);
    }

    int code() {
      return code;
    }

    byte[] stdout() {
      return stdout;
    }

    String text() {
      return new String(stdout, StandardCharsets.UTF_8);
    }

    String stderr() {
      return stderr;
    }
  }

  Outcome call(String... arguments) throws IOException, InterruptedException {
    return call(new byte[0], arguments);
  }

  Outcome call(byte[] stdin, String... arguments) throws IOException, InterruptedException {
    Process process = start(arguments);
    var stdout = read(process.getInputStream());
    var stderr = read(process.getErrorStream());
    try (var out = process.getOutputStream()) {
      out.write(stdin);
    } catch (IOException e) {
      // The command may not want it all.
    }
    if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      process.destroyForcibly();
      throw new AssertionError("ebb " + List.of(arguments) + " hangs");
    }
    return new Outcome(process.exitValue(), stdout.join(), stderr.join());
  }

  Process start(String... arguments) throws IOException {
    var words = new ArrayList<>(prefix);
    words.add(TestHost.root().resolve("ebb").toString());
    words.addAll(List.of(arguments));
    var builder = new ProcessBuilder(words);
    Ways.addTo(builder.environment());
    builder.environment().putAll(environment);
    builder.environment().put("EBB_HOME", home.toString());
    builder.environment().put("EBB_BUILD", "never");
    // Then a test counts only its own resources on the host.
    builder.environment().put("EBB_POOL_MAX", "0");
    // Its boxes would count, too, and take the processors of other tests.
    builder.environment().putIfAbsent("EBB_REHEARSAL", "false");
    builder.environment().put("EBB_TEST_SECRET", "s3cret");
    return builder.start();
  }

  private static CompletableFuture<byte[]> read(java.io.InputStream stream) {
    return CompletableFuture.supplyAsync(
        () -> {
          try (stream) {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        },
        command -> Thread.ofPlatform().name("reader").start(command));
  }
}
