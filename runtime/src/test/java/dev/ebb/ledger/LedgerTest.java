package dev.ebb.ledger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.testkit.LogCapture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LedgerTest {
  private static final List<Kind> KINDS =
      List.of(Kind.CGROUP, Kind.DIRECTORY, Kind.PROCESS, Kind.USER, Kind.CGROUP);

  private final Scope scope = new Scope();
  private Path path;
  private Ledger ledger;
  @TempDir Path directory;

  @BeforeEach
  void create() throws KernelException {
    path = directory.resolve("ledger");
    ledger = Ledger.create(scope, path);
  }

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  private Holding hold(String subject) throws KernelException {
    return ledger.hold("box", Kind.CGROUP, subject);
  }

  @Test
  void aPathIsReadAsAnEarlierEbbWroteIt() throws Exception {
    Files.writeString(path, SealedLine.seal("+ 1 box CGROUP %2Fa+b%2Fc%2B"));
    assertThat(Ledger.read(path)).extracting(Holding::subject).containsExactly("/a b/c+");
    Files.writeString(path, LedgerLine.hold(new Holding(1, "box", Kind.CGROUP, "/a b/c+")));
    assertThat(Files.readString(path)).contains(" /a+b/c%2B");
    assertThat(Ledger.read(path)).extracting(Holding::subject).containsExactly("/a b/c+");
  }

  @Test
  void heldLinesAreReadBackInOrder() throws Exception {
    var entries =
        List.of(
            new Ledger.Entry(Kind.USER, "1879048192"),
            new Ledger.Entry(Kind.CGROUP, "/sys/fs/cgroup/ebb-1/box"));
    var held = new ArrayList<>(ledger.hold("box", entries));
    held.add(ledger.hold("", Kind.PROCESS, "17@4711"));
    assertThat(Ledger.read(path)).isEqualTo(held).isEqualTo(ledger.holdings());
    assertThat(held).extracting(Holding::number).containsExactly(1L, 2L, 3L);
  }

  @Test
  void aStruckLineIsGone() throws Exception {
    var first = hold("first");
    var second = hold("second");
    ledger.strike(List.of(first));
    assertThat(Ledger.read(path)).containsExactly(second).isEqualTo(ledger.holdings());
  }

  @Test
  void strikingAgainWritesNothing() throws Exception {
    var holding = hold("only");
    ledger.strike(List.of(holding));
    long size = Files.size(path);
    ledger.strike(List.of(holding));
    ledger.strike(List.of(new Holding(99, "box", Kind.USER, "never held")));
    assertThat(Files.size(path)).isEqualTo(size);
  }

  @Test
  void anExistingFileIsNoNewLedger() {
    assertThatThrownBy(() -> Ledger.create(scope, path)).hasMessageEndingWith("EEXIST");
  }

  @Test
  void anAbsentLedgerListsNothingAndAnUnreadableOneIsAnError() throws Exception {
    assertThat(Ledger.read(directory.resolve("absent"))).isEmpty();
    assertThatThrownBy(() -> Ledger.read(directory)).isInstanceOf(IOException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "two words",
        "new\nline",
        "\r\n\t\0",
        "päth/日本語/🌊",
        "a+b%20c%",
        "- 1",
        "00000000 - 1\n"
      })
  void anySubjectIsReadBackAsItWas(String subject) throws Exception {
    var odd = ledger.hold("box", Kind.DIRECTORY, subject);
    var next = hold("next");
    assertThat(odd.subject()).isEqualTo(subject);
    assertThat(Ledger.read(path)).containsExactly(odd, next);
  }

  /** One write of the ledger: its offset in the file, and its content. */
  private record Step(long start, long end, List<Holding> held, List<Holding> struck) {}

  private List<Step> steps() throws Exception {
    var steps = new ArrayList<Step>();
    var subjects = List.of("/sys/fs/cgroup/ebb-1", "odd\n näme", "17@4711", "1879048192", "x y");
    List<Holding> before = List.of();
    for (int i = 0; i < 6; i++) {
      long start = Files.size(path);
      var entries = new ArrayList<Ledger.Entry>();
      for (String subject : subjects.subList(0, 1 + i % subjects.size())) {
        entries.add(new Ledger.Entry(KINDS.get(entries.size()), subject));
      }
      var held = ledger.hold("box-" + i, entries);
      steps.add(new Step(start, Files.size(path), held, List.of()));
      if (i % 2 == 1) {
        var struck = List.of(held.getFirst(), before.getLast());
        long middle = Files.size(path);
        ledger.strike(struck);
        steps.add(new Step(middle, Files.size(path), List.of(), struck));
      }
      before = held;
    }
    return steps;
  }

  @Test
  void atEveryByteTheFileIsASupersetOfTheTruth() throws Exception {
    var steps = steps();
    byte[] bytes = Files.readAllBytes(path);
    Path cut = directory.resolve("cut");
    for (int length = 0; length <= bytes.length; length++) {
      Files.write(cut, Arrays.copyOf(bytes, length));
      var truth = new ArrayList<Holding>();
      var written = new ArrayList<Holding>();
      for (Step step : steps) {
        // A resource is made after its write returned, and is gone before its strike begins.
        if (step.end() <= length) {
          truth.addAll(step.held());
        }
        if (step.start() < length) {
          written.addAll(step.held());
          truth.removeAll(step.struck());
        }
        if (step.end() <= length) {
          written.removeAll(step.struck());
        }
      }
      assertThat(Ledger.read(cut)).as("cut at %d", length).containsAll(truth).isSubsetOf(written);
    }
  }

  @Test
  void aDamagedByteNeverMakesAHoldingThatWasNotWritten() throws Exception {
    var written = steps().stream().flatMap(step -> step.held().stream()).toList();
    byte[] bytes = Files.readAllBytes(path);
    Path damaged = directory.resolve("damaged");
    for (int i = 0; i < bytes.length; i++) {
      byte[] copy = bytes.clone();
      copy[i] ^= (byte) (1 << i % Byte.SIZE);
      Files.write(damaged, copy);
      assertThat(written).containsAll(Ledger.read(damaged));
    }
  }

  @Test
  void aLineOfANewerVersionIsRefused() throws Exception {
    Files.writeString(path, SealedLine.seal("+ 1 box MOON far"));
    assertThatThrownBy(() -> Ledger.read(path))
        .hasMessage(
            "cannot use " + path + ": its ledger lists a MOON, of a newer Ebb: use that one");
  }

  @Test
  void theFileStartsAnewWhenItIsLong() throws Exception {
    String subject = "x".repeat(10_000);
    var keep = hold("keep");
    for (int i = 0; i < 500; i++) {
      ledger.strike(List.of(hold(subject)));
      assertThat(Files.size(path)).isLessThan(1_100_000);
    }
    assertThat(Ledger.read(path)).containsExactly(keep);
    var next = hold("next");
    assertThat(Ledger.read(path)).containsExactly(keep, next);
    assertThat(next.number()).isGreaterThan(keep.number());
    assertThat(directory).isDirectoryNotContaining("glob:**/*.new");
  }

  @Test
  void aLedgerThatCannotCompactContinuesAndLogsThatOnce() throws Exception {
    var keep = hold("keep");
    try (var log = new LogCapture(Ledger.class)) {
      Path inTheWay = Files.createDirectory(directory.resolve(Ledger.NEXT));
      holdAndStrike(350);
      assertThat(Files.size(path)).as("it was tried some times").isGreaterThan(3_300_000);
      assertThat(Ledger.read(path)).containsExactly(keep);
      assertThat(log.lines())
          .singleElement(InstanceOfAssertFactories.STRING)
          .startsWith("WARNING event=ledger_not_compacted bytes=")
          .contains("path=" + path)
          .contains("EISDIR");

      Files.delete(inTheWay);
      holdAndStrike(150);
      assertThat(Files.size(path)).isLessThan(1_100_000);
      assertThat(Ledger.read(path)).containsExactly(keep);
      assertThat(log.lines()).hasSize(1);

      Files.createDirectory(inTheWay);
      holdAndStrike(150);
      assertThat(log.lines()).as("once more, for it was good meanwhile").hasSize(2);
    }
  }

  private void holdAndStrike(int times) throws KernelException {
    String subject = "x".repeat(10_000);
    for (int i = 0; i < times; i++) {
      ledger.strike(List.of(hold(subject)));
    }
  }

  @Test
  void holdsAndStrikesOfManyThreadsAreAllThere() throws Exception {
    int threads = 8;
    int each = 200;
    var kept = new ArrayList<Future<List<Holding>>>();
    try (var executor = Executors.newFixedThreadPool(threads)) {
      for (int i = 0; i < threads; i++) {
        String box = "box-" + i;
        Callable<List<Holding>> task =
            () -> {
              var mine = new ArrayList<Holding>();
              for (int n = 0; n < each; n++) {
                var held =
                    ledger.hold(
                        box,
                        List.of(
                            new Ledger.Entry(Kind.USER, "stays " + n),
                            new Ledger.Entry(Kind.CGROUP, "goes " + n)));
                ledger.strike(held.subList(1, 2));
                mine.add(held.getFirst());
              }
              return mine;
            };
        kept.add(executor.submit(task));
      }
    }
    var all = new ArrayList<Holding>();
    for (var future : kept) {
      all.addAll(future.get());
    }
    assertThat(ledger.holdings()).containsExactlyInAnyOrderElementsOf(all);
    assertThat(Ledger.read(path)).isEqualTo(ledger.holdings());
    assertThat(all).extracting(Holding::number).doesNotHaveDuplicates().hasSize(threads * each);
  }
}
