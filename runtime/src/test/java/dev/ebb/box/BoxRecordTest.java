package dev.ebb.box;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.BoxSpec;
import dev.ebb.store.JournalEntry;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BoxRecordTest {
  private static final BoxRecord RECORD =
      new BoxRecord(
          BoxSpec.defaults(),
          7,
          Optional.of("forkserver"),
          new BoxRecord.HexNonce("00ff"),
          Optional.empty(),
          Optional.empty(),
          Map.of("tenant", "one"));

  @Test
  void itIsReadAsItWasWritten() throws IOException {
    assertThat(BoxRecord.parse(RECORD.entry())).isEqualTo(RECORD);
  }

  /** A record from the time before backends had names. */
  @Test
  void aRecordWithoutABackendIsReadAsBefore() throws IOException {
    JournalEntry old =
        JournalEntry.about("box")
            .with("uid", 7)
            .with("nonce", "00ff")
            .with("memory", 64 << 20)
            .with("pids", 64)
            .with("cpus", 1.0)
            .with("disk", 64 << 20)
            .with("temporary", 64 << 20)
            .with("network", "none");
    BoxRecord read = BoxRecord.parse(old);
    assertThat(read.backend()).isEmpty();
    assertThat(read.spec().backend()).isEmpty();
    assertThat(read.uid()).isEqualTo(7);
  }
}
