package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Holding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The resources of a box on the host at one moment. */
record HostBox(String id, String name, List<Long> pids, List<Path> cgroups) {
  static HostBox look(EbbClient client, String name) throws IOException {
    Box box = client.boxes().inspect(name);
    List<Long> pids =
        box.holdings().stream()
            .filter(holding -> holding.kind().equals("process"))
            .map(holding -> requireNonNull(holding.pid()))
            .toList();
    List<Path> cgroups =
        box.holdings().stream()
            .filter(holding -> holding.kind().equals("cgroup"))
            .map(Holding::subject)
            .map(Path::of)
            .toList();
    return new HostBox(box.id(), name, pids, cgroups);
  }

  static boolean isThere(long pid) {
    return Files.exists(Path.of("/proc/" + pid));
  }

  void assertIsThere() {
    assertThat(pids).as("processes of %s", name).isNotEmpty().allMatch(HostBox::isThere);
    assertThat(cgroups).as("cgroups of %s", name).allMatch(Files::exists);
  }

  /** After an announced end there is nothing to wait for; a zombie counts as left. */
  void assertIsGone() {
    assertThat(pids).as("processes of %s", name).noneMatch(HostBox::isThere);
    assertThat(cgroups).as("cgroups of %s", name).noneMatch(Files::exists);
  }

  /** Kills all of it from outside, and waits until it is reaped. */
  void kill() {
    pids.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(() -> assertThat(pids).noneMatch(HostBox::isThere));
  }
}
