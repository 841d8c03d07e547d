package dev.ebb.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The guarantees of every store of records. */
class RecordStoreTest {
  @TempDir Path home;

  enum Kind {
    FILES,
    MEMORY
  }

  private RecordStore store(Kind kind) throws Exception {
    return switch (kind) {
      case FILES -> {
        Files.createDirectories(home.resolve("i1/b1"));
        Files.createDirectories(home.resolve("i1/b2"));
        yield new FileRecordStore(home, home.resolve("i1"));
      }
      case MEMORY -> new MemoryRecordStore();
    };
  }

  private static JournalEntry numbered(String about, int number) {
    return JournalEntry.about(about).with(Journal.NUMBER, number);
  }

  @ParameterizedTest
  @EnumSource
  void eachBoxHasARecordOfItsOwn(Kind kind) throws Exception {
    RecordStore store = store(kind);
    assertThat(store.box("b1").read()).isEmpty();
    store.box("b1").append(JournalEntry.about("first").with("word", "= é\n"));
    store.box("b1").append(JournalEntry.about("second"));
    store.box("b2").append(JournalEntry.about("other"));
    assertThat(store.box("b1").read())
        .extracting(JournalEntry::about)
        .containsExactly("first", "second");
    assertThat(store.box("b1").find("first").orElseThrow().text("word")).isEqualTo("= é\n");
    assertThat(store.box("b1").find("other")).isEmpty();
    assertThat(store.history().read()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void whatIsForgottenIsGoneAndItsNumberIsNotUsedAgain(Kind kind) throws Exception {
    for (Journal journal : List.of(store(kind).box("b1"), store(kind).history())) {
      journal.append(JournalEntry.about("box"));
      journal.append(numbered("exec", 1));
      journal.append(numbered("exec", 2));
      journal.append(numbered("ended", 2));
      journal.forget(2);
      Journal.Contents left = journal.contents();
      assertThat(left.entries()).extracting(JournalEntry::about).containsExactly("box", "exec");
      assertThat(left.highest()).isEqualTo(2);
      journal.append(numbered("exec", 2));
      assertThat(journal.read()).hasSize(3);
    }
  }

  @ParameterizedTest
  @EnumSource
  void keysAndQuotasAreLinesApart(Kind kind) throws Exception {
    RecordStore store = store(kind);
    assertThat(store.keys().lines()).isEmpty();
    assertThat(store.keys().<Boolean>change(lines -> lines.add("one"))).isTrue();
    store.keys().change(lines -> lines.add("two"));
    store.quotas().change(lines -> lines.add("three"));
    store.keys().change(lines -> lines.remove("one"));
    assertThat(store.keys().lines()).containsExactly("two");
    assertThat(store.quotas().lines()).containsExactly("three");
    assertThat(store.keys().place()).contains("keys");
  }

  @ParameterizedTest
  @EnumSource
  void aChangeOfLinesChangesTheirVersion(Kind kind) throws Exception {
    OwnerLines quotas = store(kind).quotas();
    String first = quotas.version();
    assertThat(quotas.version()).isEqualTo(first);
    quotas.change(lines -> lines.add("one"));
    String second = quotas.version();
    quotas.change(lines -> lines.add("two"));
    String third = quotas.version();
    quotas.change(lines -> Collections.replaceAll(lines, "two", "six"));
    assertThat(Stream.of(first, second, third, quotas.version())).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @EnumSource
  void aChangeThatFailsChangesNothing(Kind kind) throws Exception {
    OwnerLines keys = store(kind).keys();
    keys.change(lines -> lines.add("one"));
    try {
      keys.change(
          lines -> {
            lines.clear();
            throw new IllegalStateException("half of it");
          });
    } catch (IllegalStateException e) {
      assertThat(e).hasMessage("half of it");
    }
    assertThat(keys.lines()).containsExactly("one");
  }

  @ParameterizedTest
  @EnumSource
  void noneOfManyChangesAtOnceIsLost(Kind kind) throws Exception {
    RecordStore store = store(kind);
    var changes = new ArrayList<FutureTask<Boolean>>();
    for (int i = 0; i < 50; i++) {
      String line = "line-" + i;
      var change = new FutureTask<Boolean>(() -> store.keys().change(lines -> lines.add(line)));
      changes.add(change);
      Thread.ofPlatform().name(line).start(change);
    }
    for (var change : changes) {
      assertThat(change.get(30, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(store.keys().lines()).hasSize(50).doesNotHaveDuplicates();
  }

  @Test
  void onlyTheOwnerReadsKeysAndQuotas() throws Exception {
    RecordStore store = store(Kind.FILES);
    store.keys().change(lines -> lines.add("one"));
    store.quotas().change(lines -> lines.add("one"));
    for (String name : List.of("keys", "quotas")) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(home.resolve(name))))
          .isEqualTo("rw-------");
    }
  }
}
