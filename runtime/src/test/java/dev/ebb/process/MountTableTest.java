package dev.ebb.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class MountTableTest {
  private static final String TABLE =
      """
      22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
      40 22 0:35 / /home/a\\040b rw - tmpfs none rw
      41 40 0:36 / /home/a\\040b/c rw master:3 - tmpfs none rw
      42 22 0:37 / /home/a\\040bc rw - tmpfs none rw
      """;

  @Test
  void onTheDirectoryAndBelowIt() {
    assertThat(MountTable.below(TABLE, Path.of("/home/a b")))
        .containsExactly(Path.of("/home/a b"), Path.of("/home/a b/c"));
  }

  @Test
  void ourOwnHasARoot() throws Exception {
    assertThat(MountTable.below(Path.of("/"))).contains(Path.of("/"));
  }
}
