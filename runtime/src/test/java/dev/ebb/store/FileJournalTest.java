package dev.ebb.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileJournalTest {
  private static final JournalEntry ODD =
      JournalEntry.about("odd one").with("a key", "= é %\n\0").with("empty", "").with("n", 7);

  @TempDir Path directory;
  private FileJournal journal;

  @BeforeEach
  void name() {
    journal = new FileJournal(directory.resolve("record"));
  }

  @Test
  void whatWasAddedIsReadInItsOrder() throws Exception {
    journal.append(ODD);
    journal.append(JournalEntry.about("second").withAll("word", List.of("a", "b")));
    var entries = journal.read();
    assertThat(entries).extracting(JournalEntry::about).containsExactly("odd one", "second");
    assertThat(entries.getFirst().text("a key")).isEqualTo("= é %\n\0");
    assertThat(entries.getFirst().text("empty")).isEmpty();
    assertThat(entries.getFirst().number("n")).isEqualTo(7);
    assertThat(entries.getLast().texts("word")).containsExactly("a", "b");
  }

  @Test
  void oneEntryIsFoundByWhatItIsAbout() throws Exception {
    journal.append(ODD.with("word", "gone"));
    journal.append(JournalEntry.about("gone-by"));
    journal.append(JournalEntry.about("gone"));
    journal.append(JournalEntry.about("gone").with("n", 1));
    assertThat(journal.find("gone"))
        .hasValueSatisfying(
            e -> {
              assertThat(e.about()).isEqualTo("gone");
              assertThat(e.find("n")).isEmpty();
            });
    assertThat(journal.find("other")).isEmpty();
  }

  @Test
  void anAbsentOneHasNothing() throws Exception {
    assertThat(journal.find("gone")).isEmpty();
    assertThat(journal.read()).isEmpty();
  }

  @Test
  void aLineTornAnywhereIsSkippedAndTheNextOneIsWhole() throws Exception {
    journal.append(ODD);
    byte[] whole = Files.readAllBytes(journal.path());
    for (int length = 1; length < whole.length - 1; length++) {
      Files.write(journal.path(), java.util.Arrays.copyOf(whole, length));
      assertThat(journal.read()).as("torn at %d", length).isEmpty();
      journal.append(JournalEntry.about("next"));
      assertThat(journal.read()).extracting(JournalEntry::about).containsExactly("next");
    }
  }

  @Test
  void aDamagedLineIsSkipped() throws Exception {
    journal.append(ODD);
    journal.append(JournalEntry.about("next"));
    String text = Files.readString(journal.path(), StandardCharsets.ISO_8859_1);
    Files.writeString(journal.path(), text.replace("n=7", "n=8"), StandardCharsets.ISO_8859_1);
    assertThat(journal.read()).extracting(JournalEntry::about).containsExactly("next");
  }

  @Test
  void whatIsForgottenIsNotRead() throws Exception {
    journal.append(JournalEntry.about("box"));
    for (int number : List.of(1, 2, 1)) {
      journal.append(JournalEntry.about("exec").with("number", number));
    }
    journal.forget(1);
    assertThat(journal.read())
        .extracting(entry -> entry.about() + entry.find("number").orElse(""))
        .containsExactly("box", "exec2");
    journal.append(JournalEntry.about("exec").with("number", 1));
    assertThat(journal.read()).hasSize(3);
  }

  @Test
  void theHighestNumberIsNotForgotten() throws Exception {
    assertThat(journal.contents().highest()).isZero();
    for (int number : List.of(1, 3, 2)) {
      journal.append(JournalEntry.about("exec").with("number", number));
    }
    journal.forget(3);
    assertThat(journal.contents().highest()).isEqualTo(3);
  }

  @Test
  void itDoesNotGrowWithWhatIsForgotten() throws Exception {
    journal.append(JournalEntry.about("box"));
    String much = "x".repeat(100_000);
    for (int number = 0; number < 50; number++) {
      journal.append(JournalEntry.about("exec").with("number", number).with("much", much));
      journal.forget(number);
    }
    assertThat(journal.contents().highest()).as("also when it is left out").isEqualTo(49);
    assertThat(Files.size(journal.path())).isLessThan(1_300_000);
    assertThat(journal.read()).extracting(JournalEntry::about).containsExactly("box");
    assertThat(directory).isDirectoryNotContaining("glob:**new");
  }

  @Test
  void aRewrittenFileHasTheOtherEntriesInTheirOrderAndTheHighestNumber() throws Exception {
    journal.append(JournalEntry.about("first"));
    journal.append(JournalEntry.about("exec").with("number", 9).with("much", "x".repeat(1 << 20)));
    journal.append(JournalEntry.about("second"));
    journal.append(JournalEntry.about("third"));
    journal.forget(9);
    assertThat(Files.size(journal.path())).isLessThan(1000);
    assertThat(journal.read())
        .extracting(JournalEntry::about)
        .containsExactly("first", "second", "third");
    assertThat(journal.contents().highest()).isEqualTo(9);
  }

  @Test
  void whatIsMissingIsNamed() {
    assertThatThrownBy(() -> ODD.text("other"))
        .isInstanceOf(IOException.class)
        .hasMessage("the entry \"odd one\" of a record has no other");
    assertThatThrownBy(() -> ODD.number("a key")).hasMessageContaining("no number for a key");
    assertThat(JournalEntry.about("x").with("p-a", 1).with("q", 2).startingWith("p-"))
        .isEqualTo(Map.of("a", "1"));
  }
}
