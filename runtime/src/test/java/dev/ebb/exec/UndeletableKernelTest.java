package dev.ebb.exec;

import static dev.ebb.exec.Workbench.eventually;
import static dev.ebb.exec.Workbench.sh;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.engine.Engine;
import dev.ebb.model.BoxSpec;
import dev.ebb.model.BoxState;
import dev.ebb.model.Certificate;
import dev.ebb.model.Kind;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A directory of a box that cannot be removed. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class UndeletableKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT, Feature.BWRAP);

  /** The obstacle that keeps the directory. */
  enum Obstacle {
    MOUNT {
      @Override
      String[] put(Path logs) {
        return new String[] {"mount", "-t", "tmpfs", "ebb-test", logs.toString()};
      }

      @Override
      String[] take(Path logs) {
        return new String[] {"umount", logs.toString()};
      }
    },
    IMMUTABLE_FILE {
      @Override
      String[] put(Path logs) {
        return new String[] {"chattr", "+i", logs.resolve("1.stdout").toString()};
      }

      @Override
      String[] take(Path logs) {
        return new String[] {"chattr", "-i", logs.resolve("1.stdout").toString()};
      }
    };

    abstract String[] put(Path logs);

    abstract String[] take(Path logs);
  }

  private static void run(String... command) throws IOException, InterruptedException {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  private static Box withOutput(Engine engine) throws InterruptedException {
    Box box = engine.create(BoxSpec.defaults());
    Workbench.await(engine.start(box, sh("head -c 100000 /dev/zero")));
    return box;
  }

  private static void assertReports(Certificate certificate, Box box, Obstacle obstacle) {
    Path logs = box.execSite().directory().logs().path();
    assertThat(certificate.isClean()).isFalse();
    assertThat(certificate.stuck().getFirst().kind()).isEqualTo(Kind.DIRECTORY);
    assertThat(certificate.stuck().getFirst().subject()).isEqualTo(logs.toString());
    assertThat(certificate.stuck().getFirst().reason())
        .contains(
            obstacle == Obstacle.MOUNT
                ? "EBUSY; Ebb did not mount [" + logs + "]"
                : "1.stdout: EPERM");
    assertThat(certificate.released().get(Kind.PROCESS)).as("what did go").isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void aReleaseReportsWhatStaysAndIsRepeatedUntilItGoes(Obstacle obstacle) throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = withOutput(engine);
      Path logs = box.execSite().directory().logs().path();
      run(obstacle.put(logs));
      try {
        assertReports(engine.release(box), box, obstacle);
        assertThat(box.state()).isEqualTo(BoxState.STUCK);
      } finally {
        run(obstacle.take(logs));
      }
      // No caller repeats the request.
      eventually().until(() -> box.state() == BoxState.GONE);
      assertThat(logs).doesNotExist();
      assertThat(engine.holdings()).noneMatch(held -> held.box().equals(box.id().value()));
      assertThat(engine.release(box).isClean()).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource
  void soDoesTheRemovalOfAStoppedBox(Obstacle obstacle) throws Exception {
    try (Engine engine = Engine.open(host.home())) {
      Box box = withOutput(engine);
      Path logs = box.execSite().directory().logs().path();
      assertThat(engine.stop(box).isClean()).isTrue();
      run(obstacle.put(logs));
      try {
        assertReports(engine.forget(box), box, obstacle);
        assertThat(box.state()).isEqualTo(BoxState.STUCK);
        assertThat(engine.forget(box).isClean()).as("again").isFalse();
        Certificate again = engine.release(box);
        assertThat(again.isClean()).isFalse();
        assertThat(again.stuck()).allMatch(stuck -> !stuck.reason().isEmpty());
      } finally {
        run(obstacle.take(logs));
      }
      assertThat(engine.release(box).isClean()).isTrue();
      assertThat(box.state()).isEqualTo(BoxState.GONE);
      assertThat(logs).doesNotExist();
    }
  }
}
