package dev.ebb.server.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.process.ProcFs;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The inventory of an init that was killed the moment before, and is not reaped yet. */
@LeakChecked
@Timeout(60)
class InventoryTest {
  private Process parent;
  private int init;

  /** Its parent does not wait for it. */
  @BeforeEach
  void start() throws IOException {
    parent = new ProcessBuilder("sh", "-c", "sleep 1000 & echo $!; exec sleep 1000").start();
    init = Integer.parseInt(parent.inputReader().readLine());
    // RACE: a shell may still wait for it, what it becomes does not.
    await().until(() -> ProcFs.commandLine((int) parent.pid()).equals("sleep 1000"));
  }

  @AfterEach
  void end() throws Exception {
    ProcessHandle.of(init).ifPresent(ProcessHandle::destroyForcibly);
    parent.destroyForcibly().waitFor();
    await().until(() -> TestHost.reapOrphans() >= 0 && ProcFs.stat(init).isEmpty());
  }

  @Test
  void aLivingProcessHasMounts() throws Exception {
    assertThat(Inventory.mounts(init)).contains("/proc");
  }

  @Test
  void aKilledProcessHasNoMounts() throws Exception {
    ProcessHandle.of(init).orElseThrow().destroyForcibly();
    await().until(() -> ProcFs.stat(init).orElseThrow().isZombie());
    assertThat(Inventory.mounts(init)).isEmpty();
  }

  @Test
  void aGoneProcessHasNoMounts() throws Exception {
    end();
    assertThat(Inventory.mounts(init)).isEmpty();
  }
}
