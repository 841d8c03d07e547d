package dev.ebb.engine;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.BoxEnd;
import dev.ebb.box.PastBox;
import dev.ebb.model.BoxId;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.Certificate;
import dev.ebb.model.Kind;
import dev.ebb.store.JournalEntry;
import dev.ebb.store.MemoryRecordStore;
import dev.ebb.store.RecordStore;
import dev.ebb.store.RecordStores;
import dev.ebb.testkit.LogCapture;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PastBoxesTest {
  private static final BoxId ID = new BoxId("b0123456789ab");
  private static final PastBox MADE =
      new PastBox(ID, BoxSpec.defaults(), Map.of("tenant", "a b"), Optional.empty(), List.of());
  private static final PastBox ENDED =
      new PastBox(
              ID,
              BoxSpec.defaults(),
              MADE.note(),
              Optional.empty(),
              List.of(JournalEntry.about("exec").with("n", 1)))
          .ended(
              new BoxEnd(
                  Instant.ofEpochMilli(1234),
                  new Certificate(
                      ID.value(),
                      Map.of(Kind.CGROUP, 2),
                      Map.of(Kind.CGROUP, 2),
                      List.of(),
                      Duration.ofMillis(5)),
                  Map.of("ended-by", "idle")));

  @TempDir Path home;

  enum Kept {
    FILES,
    MEMORY
  }

  private RecordStore store(Kept where) {
    return switch (where) {
      case FILES -> RecordStores.open(home, home.resolve("i"));
      case MEMORY -> new MemoryRecordStore();
    };
  }

  private static PastBoxes open(RecordStore records) {
    var past = new PastBoxes(records);
    var _ = past.open();
    return past;
  }

  private static Map<Integer, PastBox> read(RecordStore records) {
    return new PastBoxes(records).open();
  }

  private Path file() {
    return home.resolve("history");
  }

  @ParameterizedTest
  @EnumSource
  void theNextDaemonReadsWhatWasWritten(Kept where) {
    RecordStore records = store(where);
    PastBoxes past = open(records);
    int first = past.begin(MADE);
    int second = past.begin(MADE);
    assertThat(past.end(second, ENDED)).isEqualTo(second);
    var found = read(records);
    assertThat(found).containsOnlyKeys(first, second);
    assertThat(found.get(first)).isEqualTo(MADE);
    PastBox ended = requireNonNull(found.get(second));
    assertThat(ended.note()).isEqualTo(MADE.note());
    assertThat(ended.end()).isEqualTo(ENDED.end());
    assertThat(ended.execs()).extracting(JournalEntry::about).containsExactly("exec");
    assertThat(ended.execs().getFirst().find("n")).hasValue("1");
  }

  @ParameterizedTest
  @EnumSource
  void anEndNeedsNoBeginning(Kept where) {
    RecordStore records = store(where);
    int number = open(records).end(PastBoxes.NONE, ENDED);
    assertThat(read(records)).containsOnlyKeys(number);
  }

  @ParameterizedTest
  @EnumSource
  void whatIsForgottenIsGoneAndItsNumberIsNotUsedAgain(Kept where) {
    RecordStore records = store(where);
    PastBoxes past = open(records);
    int number = past.end(past.begin(MADE), ENDED);
    past.forget(number);
    past.forget(PastBoxes.NONE);
    assertThat(read(records)).isEmpty();
    assertThat(open(records).begin(MADE)).isGreaterThan(number);
  }

  @Test
  void theFileDoesNotGrowWithWhatIsForgotten() throws Exception {
    PastBoxes past = open(store(Kept.FILES));
    for (int i = 0; i < 3000; i++) {
      past.forget(past.end(past.begin(MADE), ENDED));
    }
    assertThat(Files.size(file())).isLessThan(2 << 20);
  }

  @Test
  void ofManyExecsTheLatestAreKept() {
    var exec = JournalEntry.about("exec").with("word", "%".repeat(10_000));
    var many =
        new PastBox(ID, BoxSpec.defaults(), Map.of(), ENDED.end(), Collections.nCopies(100, exec));
    RecordStore records = store(Kept.FILES);
    int number = open(records).end(PastBoxes.NONE, many);
    assertThat(requireNonNull(read(records).get(number)).execs()).hasSizeBetween(1, 10);
    assertThat(file().toFile().length()).isBetween(10_000L, 300_000L);
  }

  @Test
  void aBoxThatIsTooLargeIsNotWrittenAndSaysSo() {
    var large = Map.of("label a", "x".repeat(1 << 20));
    var box = new PastBox(ID, BoxSpec.defaults(), large, Optional.empty(), List.of());
    RecordStore records = store(Kept.FILES);
    try (var log = new LogCapture(NumberedRecords.class)) {
      assertThat(open(records).begin(box)).isEqualTo(PastBoxes.NONE);
      assertThat(log.lines()).anyMatch(line -> line.contains("record_failed box=" + ID));
    }
    assertThat(file()).doesNotExist();
  }

  @Test
  void aFullDiskIsReportedAndNothingFails() throws Exception {
    PastBoxes past = open(store(Kept.FILES));
    // Root writes to whatever is a file.
    Files.createDirectory(file());
    try (var log = new LogCapture(NumberedRecords.class)) {
      int number = past.begin(MADE);
      assertThat(number).isEqualTo(PastBoxes.NONE);
      assertThat(past.end(number, ENDED)).isEqualTo(PastBoxes.NONE);
      past.forget(7);
      assertThat(log.lines())
          .hasSize(3)
          .allMatch(line -> line.startsWith("WARNING"))
          .filteredOn(line -> line.contains("record_failed box=" + ID))
          .hasSize(2);
    }
  }

  enum Damage {
    EMPTY,
    TRUNCATED,
    GARBAGE,
    OLDER,
    NEWER,
    MISSING,
    UNREADABLE
  }

  private void damage(Damage how) throws Exception {
    String text = Files.readString(file(), ISO_8859_1);
    switch (how) {
      case EMPTY -> Files.writeString(file(), "");
      case TRUNCATED ->
          Files.writeString(file(), text.substring(0, text.length() - 30), ISO_8859_1);
      case GARBAGE -> Files.writeString(file(), "\0\1\377nonsense\n=\n@\n", ISO_8859_1);
      case OLDER, NEWER -> {
        // An entry with fewer fields, or with fields that only another version knows.
        var odd = how == Damage.OLDER ? JournalEntry.about("ended") : JournalEntry.about("moved");
        RecordStores.open(home, home).history().append(odd.with("number", 9).with("to", "moon"));
      }
      case MISSING -> Files.delete(file());
      case UNREADABLE -> {
        Files.delete(file());
        Files.createDirectory(file());
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aDamagedHistoryKeepsNoDaemon(Damage how) throws Exception {
    RecordStore records = store(Kept.FILES);
    int number = open(records).begin(MADE);
    open(records).end(number, ENDED);
    damage(how);
    try (var log = new LogCapture(NumberedRecords.class)) {
      var past = new PastBoxes(records);
      var found = past.open();
      switch (how) {
        case EMPTY, GARBAGE, MISSING -> assertThat(found).isEmpty();
        case TRUNCATED -> assertThat(found.get(number)).isEqualTo(MADE);
        case OLDER, NEWER -> assertThat(found).containsOnlyKeys(number);
        case UNREADABLE -> assertThat(log.lines()).anyMatch(l -> l.contains("history_not_read"));
      }
      int next = past.begin(MADE);
      if (how == Damage.UNREADABLE) {
        assertThat(next).isEqualTo(PastBoxes.NONE);
        assertThat(file()).isEmptyDirectory();
      } else {
        assertThat(read(records)).containsKey(next);
      }
    }
  }
}
