package dev.ebb.torture.soak;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** One request to a daemon, and its expected result. */
enum Errand {
  /** The most common use. */
  IMPORT,
  /** A command that fails by itself. */
  FAIL,
  /** A tree that must be killed, with a daemon in it. */
  TIME_OUT,
  /** More output than is allowed. */
  FLOOD,
  /** A box that lives for a while. */
  LIVE;

  private static final Path PYTHON = Path.of("/usr/bin/python3");
  private static final String LIBRARY = "import json, re, random, decimal; print('done')";

  /** The first few that the directory holds. */
  private static final String PACKAGES =
      """
      import importlib, os, pkgutil
      found = sorted(m.name for m in pkgutil.iter_modules([os.environ['PYTHONPATH']]))
      assert found, 'no packages'
      for name in found[:5]: importlib.import_module(name)
      print('done')
      """;

  private static final long OUTPUT = 64 << 10;
  private static final String TREE = "sleep 1000 & setsid sleep 1000 & sleep 1000";

  /** The n-th errand: of ten, six import. */
  static Errand of(int number) {
    return switch (number % 10) {
      case 0, 1, 2, 3, 4, 5 -> IMPORT;
      case 6 -> FAIL;
      case 7 -> TIME_OUT;
      case 8 -> FLOOD;
      default -> LIVE;
    };
  }

  String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  void run(EbbClient client, Optional<Path> packages) throws IOException {
    switch (this) {
      case IMPORT -> importSome(client, packages);
      case FAIL ->
          check(run(client, ExecRequest.of("sh", "-c", "echo no >&2; exit 3")), "exited 3");
      case TIME_OUT -> {
        var tree = ExecRequest.of("sh", "-c", TREE).withTimeout(Duration.ofMillis(100));
        check(run(client, tree), "timed-out");
      }
      case FLOOD -> {
        var flood = ExecRequest.of("yes").withLimits(OUTPUT, null, null);
        check(run(client, flood), "output-limit");
      }
      case LIVE -> live(client);
    }
  }

  private static Result run(EbbClient client, ExecRequest command) throws IOException {
    return client.runAndRelease(BoxRequest.defaults(), command.withGrace(Duration.ZERO));
  }

  private void importSome(EbbClient client, Optional<Path> packages) throws IOException {
    boolean hasPython = Files.isExecutable(PYTHON);
    var box = BoxRequest.defaults();
    if (hasPython && packages.isPresent()) {
      box = box.withPackages(packages.get().toString());
    }
    var command =
        hasPython
            ? ExecRequest.of("python3", "-c", packages.isPresent() ? PACKAGES : LIBRARY)
            : ExecRequest.of("echo", "done");
    Result result = client.runAndRelease(box, command);
    check(result, "exited 0");
    require(result.stdout().text().equals("done\n"), "printed " + result.stdout().text());
  }

  private void live(EbbClient client) throws IOException {
    String box = client.boxes().create(BoxRequest.defaults()).id();
    try {
      byte[] content = "kept".getBytes(StandardCharsets.UTF_8);
      client.files(box).write("/workspace/file", content);
      for (int i = 0; i < 3; i++) {
        Result result = client.execs(box).run(ExecRequest.of("cat", "/workspace/file"));
        require(result.stdout().text().equals("kept"), "printed " + result.stdout().text());
      }
    } finally {
      require(client.boxes().remove(box, true).clean(), "its certificate is not clean");
    }
  }

  private void check(Result result, String expected) throws IOException {
    var cause = result.exec().cause();
    String kind = cause == null ? "nothing" : cause.kind();
    String end = kind.equals("exited") ? kind + " " + result.exec().exitCode() : kind;
    require(end.equals(expected), "ended by " + cause + ", printed " + result.stderr().text());
    var certificate = result.certificate();
    require(certificate != null && certificate.clean(), "its certificate is " + certificate);
  }

  private void require(boolean holds, String otherwise) throws IOException {
    if (!holds) {
      throw new IOException(wireName() + ": " + otherwise);
    }
  }
}
