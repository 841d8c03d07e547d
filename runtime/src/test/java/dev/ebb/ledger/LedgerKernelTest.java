package dev.ebb.ledger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.Holding;
import dev.ebb.model.Kind;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.LogCapture;
import dev.ebb.testkit.TestHost;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The ledger on a disk that is full. */
@Tag("kernel")
@LeakChecked
class LedgerKernelTest {
  @RegisterExtension final TestHost host = TestHost.needing(Feature.ROOT);

  private final Scope scope = new Scope();
  private Path disk;
  @TempDir Path directory;

  @BeforeEach
  void mount() throws Exception {
    // Named so, a neighbour's leak check knows it to be of this JVM.
    String ours = "ebb-ledger-" + ProcessHandle.current().pid();
    disk = Files.createDirectory(directory.resolve(ours));
    run("mount", "-t", "tmpfs", "-o", "size=8k", "ledger-test", disk.toString());
  }

  @AfterEach
  void unmount() throws Exception {
    scope.close();
    run("umount", disk.toString());
  }

  private static void run(String... command) throws Exception {
    assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
  }

  @Test
  void aLineHeldAfterAFullDiskGotRoomAgainIsNotLost() throws Exception {
    Path ballast = Files.write(disk.resolve("ballast"), new byte[4096]);
    Path path = disk.resolve("ledger");
    Ledger ledger = Ledger.create(scope, path);
    Holding first = ledger.hold("box", Kind.CGROUP, "x".repeat(3900));
    assertThatThrownBy(() -> ledger.hold("box", Kind.CGROUP, "y".repeat(400)))
        .isInstanceOf(KernelException.class)
        .hasMessageEndingWith("ENOSPC");
    assertThat(ledger.holdings()).containsExactly(first);
    assertThat(Files.size(path)).as("half a line is in the file").isEqualTo(4096);
    Files.delete(ballast);
    Holding next = ledger.hold("box", Kind.CGROUP, "next");
    assertThat(Ledger.read(path)).containsExactly(first, next);
    ledger.strike(List.of(first, next));
    assertThat(Ledger.read(path)).isEmpty();
  }

  @Test
  void aLedgerWithoutRoomToCompactLeavesNoHalfWrittenFile() throws Exception {
    run("mount", "-o", "remount,size=1280k", disk.toString());
    Path path = disk.resolve("ledger");
    Ledger ledger = Ledger.create(scope, path);
    Holding kept = ledger.hold("box", Kind.CGROUP, "x".repeat(500_000));
    try (var log = new LogCapture(Ledger.class)) {
      while (Files.size(path) < 1_100_000) {
        ledger.strike(List.of(ledger.hold("box", Kind.CGROUP, "y".repeat(10_000))));
      }
      assertThat(log.lines())
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains("event=ledger_not_compacted")
          .endsWith("ENOSPC");
    }
    assertThat(disk.resolve(Ledger.NEXT)).doesNotExist();
    assertThat(Ledger.read(path)).containsExactly(kept);
  }

  @Test
  void aStrikeThatCouldNotBeWrittenCanBeRepeated() throws Exception {
    Path ballast = Files.write(disk.resolve("ballast"), new byte[4096]);
    Path path = disk.resolve("ledger");
    Ledger ledger = Ledger.create(scope, path);
    Holding holding = ledger.hold("box", Kind.CGROUP, "x".repeat(4096 - 60));
    assertThatThrownBy(() -> ledger.hold("box", Kind.CGROUP, "y".repeat(400)))
        .hasMessageEndingWith("ENOSPC");
    assertThatThrownBy(() -> ledger.strike(List.of(holding))).hasMessageEndingWith("ENOSPC");
    assertThat(ledger.holdings()).containsExactly(holding);
    Files.delete(ballast);
    ledger.strike(List.of(holding));
    assertThat(ledger.holdings()).isEmpty();
    assertThat(Ledger.read(path)).isEmpty();
  }
}
