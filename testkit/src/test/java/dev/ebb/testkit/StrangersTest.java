package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.oracle.Strangers;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StrangersTest {
  private static final boolean ORDINARY = !Feature.ROOT.isPresent();

  @TempDir Path ours;

  @Test
  void whatIsOursIsNoStrangersAlsoWhenItIsGone() throws Exception {
    Path file = Files.createFile(ours.resolve("file"));
    assertThat(Strangers.made(file)).isFalse();
    Files.delete(file);
    assertThat(Strangers.made(file)).isFalse();
  }

  @Test
  void whatIsRootsIsAStrangersToAnOrdinaryUserAlsoWhenItIsGone() throws Exception {
    assertThat(Strangers.made(Path.of("/usr"))).isEqualTo(ORDINARY);
    assertThat(Strangers.made(Path.of("/usr/gone/socket"))).isEqualTo(ORDINARY);
  }
}
