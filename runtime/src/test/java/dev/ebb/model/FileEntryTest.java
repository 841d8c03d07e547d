package dev.ebb.model;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class FileEntryTest {
  private static List<FileEntry> parse(String text) {
    return FileEntry.parse(text.getBytes(UTF_8));
  }

  @Test
  void entriesAreSixFieldsEach() {
    assertThat(parse("f\000644\0005\0001500000000\0\000a\nb\0l\000777\0001\000-1\000x\000link\0"))
        .containsExactly(
            new FileEntry(
                "a\nb",
                FileEntry.Type.FILE,
                5,
                0644,
                Instant.ofEpochSecond(1, 500_000_000),
                Optional.empty()),
            new FileEntry(
                "link",
                FileEntry.Type.LINK,
                1,
                0777,
                Instant.ofEpochSecond(-1, 999_999_999),
                Optional.of("x")));
    assertThat(parse("")).isEmpty();
  }

  @Test
  void halfAnEntryIsRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> parse("f\000644\0005\0001\0\000a"));
    assertThatIllegalArgumentException().isThrownBy(() -> parse("f\000644\0"));
  }
}
