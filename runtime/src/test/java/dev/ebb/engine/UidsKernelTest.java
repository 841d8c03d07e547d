package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.model.BoxSpec;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The uids that are claimed on the host for the boxes of a home. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
class UidsKernelTest {
  private static final Path CLAIMS = Path.of("/run/ebb-uids");

  @RegisterExtension final TestHost host = TestHost.needing(Feature.BWRAP, Feature.ROOT);

  /** The first uids that are claimed for instances of the home. */
  private static List<Integer> claimed(Path home) throws IOException {
    try (var links = Files.list(CLAIMS)) {
      return links
          .filter(link -> leadsInto(link, home))
          .map(link -> Integer.valueOf(link.getFileName().toString()))
          .toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  @Test
  void theUidsOfALivingEngineAreClaimedAndItsBoxesHaveThem() throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      int first = claimed(host.home()).getFirst();
      Box box = engine.create(BoxSpec.defaults());
      assertThat(box.footprint().uid()).isBetween(first, first + 1023);
      engine.release(box);
    }
    assertThat(claimed(host.home())).isEmpty();
  }

  @Test
  void uidsOfADetachedBoxStayClaimedWithoutADaemon() throws Exception {
    List<Integer> claims;
    int uid;
    try (Engine engine = Engine.openForDaemon(host.home())) {
      claims = claimed(host.home());
      Box box = engine.create(BoxSpec.defaults());
      box.detach(Optional.empty(), Map.of());
      uid = box.footprint().uid();
    }
    assertThat(claims).hasSize(1);
    assertThat(claimed(host.home())).isEqualTo(claims);
    HomeTools.sweep(host.home(), false);
    assertThat(claimed(host.home())).as("after a sweep").isEqualTo(claims);
    try (Engine next = Engine.openForDaemon(host.home())) {
      assertThat(claimed(host.home())).isEqualTo(claims);
      Box adopted = next.adopt().getFirst().box();
      assertThat(adopted.footprint().uid()).isEqualTo(uid);
      Box other = next.create(BoxSpec.defaults());
      assertThat(other.footprint().uid())
          .isNotEqualTo(uid)
          .isBetween(claims.getFirst(), claims.getFirst() + 1023);
      next.release(adopted);
      next.release(other);
    }
    assertThat(claimed(host.home())).isEmpty();
  }

  @Test
  void aPurgeGivesThemBack() throws Exception {
    try (Engine engine = Engine.openForDaemon(host.home())) {
      engine.create(BoxSpec.defaults()).detach(Optional.empty(), Map.of());
    }
    assertThat(claimed(host.home())).hasSize(1);
    var outcome = HomeTools.purge(host.home(), purge -> purge.run());
    assertThat(outcome.isStuck()).isFalse();
    assertThat(claimed(host.home())).isEmpty();
    TestHost.awaitOrphans();
  }

  private static boolean leadsInto(Path link, Path home) {
    try {
      return Files.readSymbolicLink(link).startsWith(home);
    } catch (IOException e) {
      // A claim of another home, which was removed.
      return false;
    }
  }
}
