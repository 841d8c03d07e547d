package dev.ebb.code;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.FileEntry;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The facts about a working directory that are known without reading it. */
class WorkspaceFilesTest {
  private static FileEntry entry(String name, long size) {
    return new FileEntry(
        name, FileEntry.Type.FILE, size, 0644, Instant.ofEpochSecond(1), Optional.empty());
  }

  @Test
  void aWrittenFileIsListedByItsRelativePath() {
    var written = new LinkedHashMap<String, Optional<FileEntry>>();
    written.put("/workspace/main.py", Optional.of(entry("main.py", 1)));
    written.put("data/in.csv", Optional.of(entry("in.csv", 2)));
    written.put("main.py", Optional.of(entry("main.py", 3)));
    WorkspaceFiles known = WorkspaceFiles.ofNew(written).orElseThrow();
    assertThat(known.files().keySet()).containsExactly("main.py", "data/in.csv");
    assertThat(known.files().get("main.py")).as("the last of two").isEqualTo(entry("main.py", 3));
    assertThat(known.isCut()).isFalse();
  }

  /** Two names for one file, or a file elsewhere: then the directory has to be read. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "../x",
        "a/../x",
        "./x",
        "a//x",
        "a/",
        "/tmp/x",
        "/workspace/../x",
        "/workspace//x",
        "..",
        ""
      })
  void aPathThatCouldMeanAnythingIsNotBelieved(String path) {
    var written = Map.of("ok.txt", Optional.of(entry("ok.txt", 1)), path, known());
    assertThat(WorkspaceFiles.ofNew(written)).isEmpty();
  }

  @Test
  void aPathMayBeAsDeepAsTheKernelAllows() {
    String deep = "a/".repeat(2_000) + "x";
    assertThat(WorkspaceFiles.ofNew(Map.of(deep, known())).orElseThrow().files())
        .containsOnlyKeys(deep);
  }

  private static Optional<FileEntry> known() {
    return Optional.of(entry("x", 1));
  }

  @Test
  void anUnknownEntryRequiresAListing() {
    assertThat(WorkspaceFiles.ofNew(Map.of("a", known(), "b", Optional.empty()))).isEmpty();
  }

  @Test
  void onlyWhatIsNotAsItWasHasChanged() {
    var before = WorkspaceFiles.ofNew(Map.of("a", known(), "b", known())).orElseThrow();
    var after =
        WorkspaceFiles.ofNew(Map.of("a", known(), "b", Optional.of(entry("x", 2)), "c", known()))
            .orElseThrow();
    assertThat(after.since(before).files().keySet()).containsExactlyInAnyOrder("b", "c");
  }
}
