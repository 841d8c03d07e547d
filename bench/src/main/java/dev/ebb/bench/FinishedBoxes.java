package dev.ebb.bench;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.kernel.Scope;
import dev.ebb.ledger.Ledger;
import dev.ebb.ledger.SealedLine;
import dev.ebb.model.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;

/** A home with many detached boxes that were stopped: each has a directory, output and a record. */
final class FinishedBoxes {
  private static final int SEAL = 9;

  private final Path home;
  private final Path first;

  private FinishedBoxes(Path home, Path first) {
    this.home = home;
    this.first = first;
  }

  /** One ended box, made by a daemon that has ended. */
  static FinishedBoxes in(Path home) throws Exception {
    ServedDaemon daemon = ServedDaemon.start(home, "");
    try (EbbClient client = daemon.connect()) {
      Box box = client.boxes().create(BoxRequest.defaults().withDetached());
      client.execs(box.id()).run(ExecRequest.of("echo", "words"));
      client.boxes().stop(box.id(), Duration.ZERO);
      try (var instances = Files.list(home.resolve("instances"))) {
        return new FinishedBoxes(home, instances.findFirst().orElseThrow().resolve(box.id()));
      }
    } finally {
      daemon.stop();
    }
  }

  Path home() {
    return home;
  }

  /** How many are there, with the first. */
  int count() throws IOException {
    try (var entries = Files.list(first.getParent())) {
      return (int) entries.filter(Files::isDirectory).count();
    }
  }

  /** All of them, and the cgroups of the instance with them. */
  void remove() throws IOException {
    ServedDaemon daemon = ServedDaemon.start(home, "");
    try (EbbClient client = daemon.connect()) {
      for (Box box : client.boxes().list(BoxQuery.all())) {
        client.boxes().remove(box.id(), true);
      }
    } finally {
      daemon.stop();
    }
  }

  /** So many more, each of which ended a second before the one before it. */
  void add(int count) throws Exception {
    List<String> record = Files.readAllLines(first.resolve("record"), StandardCharsets.US_ASCII);
    String output = Files.readString(first.resolve("1.stdout"));
    try (var scope = new Scope()) {
      Ledger ledger = Ledger.resume(scope, first.resolveSibling("ledger"));
      for (int i = 1; i <= count; i++) {
        Path box = first.resolveSibling("b%012x".formatted(System.nanoTime()));
        Files.createDirectory(box);
        Files.writeString(box.resolve("1.stdout"), output);
        Files.createFile(box.resolve("1.stderr"));
        Files.writeString(box.resolve("record"), earlier(record, Duration.ofSeconds(i)));
        ledger.hold(
            box.getFileName().toString(),
            List.of(
                new Ledger.Entry(Kind.DIRECTORY, box.toString()),
                new Ledger.Entry(Kind.RECORD, box.resolve("record").toString())));
      }
    }
  }

  private static String earlier(List<String> record, Duration by) {
    var text = new StringBuilder();
    for (String line : record) {
      if (line.length() > SEAL) {
        text.append(SealedLine.seal(earlier(line.substring(SEAL), by)));
      }
    }
    return text.toString();
  }

  private static String earlier(String entry, Duration by) {
    return entry.startsWith("gone ")
        ? Pattern.compile("(?<= at=)\\d+")
            .matcher(entry)
            .replaceFirst(at -> Long.toString(Long.parseLong(at.group()) - by.toMillis()))
        : entry;
  }
}
