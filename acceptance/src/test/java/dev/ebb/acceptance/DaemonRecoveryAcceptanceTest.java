package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The recovery of a damaged state that the last daemon left. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonRecoveryAcceptanceTest {
  private static final int SILENT = 6;

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private Box create(String name) throws IOException {
    return daemon.client().boxes().create(BoxRequest.defaults().withName(name).withDetached());
  }

  private static void signal(String signal, List<Long> pids) throws Exception {
    for (long pid : pids) {
      assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).start().waitFor())
          .isZero();
    }
  }

  private Path instance() throws IOException {
    try (var instances = Files.list(daemon.home().resolve("instances"))) {
      return instances.findFirst().orElseThrow();
    }
  }

  /** Returns the cgroups of an instance; other runtimes make and remove theirs meanwhile. */
  private static List<Path> cgroups(Path instance) throws IOException {
    var found = new ArrayList<Path>();
    Files.walkFileTree(
        Path.of("/sys/fs/cgroup"),
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes attributes) {
            if (path.endsWith(instance.getFileName())) {
              found.add(path);
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path path, IOException gone) {
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path path, @Nullable IOException gone) {
            return FileVisitResult.CONTINUE;
          }
        });
    return found;
  }

  @Test
  void initsThatDoNotAnswerDelayNoCallerAndAreServedWhenTheyDo() throws Exception {
    var inits = new ArrayList<Long>();
    for (int i = 0; i < SILENT; i++) {
      create("silent" + i);
      inits.add(HostBox.look(daemon.client(), "silent" + i).pids().getFirst());
    }
    create("other");
    daemon.kill();
    signal("STOP", inits);
    long begun = System.nanoTime();
    daemon.start();
    EbbClient next = daemon.client();
    assertThat(next.boxes().inspect("other").state()).isEqualTo(BoxState.RUNNING);
    assertThat(Duration.ofNanos(System.nanoTime() - begun))
        .isLessThan(TestHost.patience(Duration.ofSeconds(15)));
    for (int i = 0; i < SILENT; i++) {
      assertThat(next.boxes().inspect("silent" + i).state()).isEqualTo(BoxState.UNREACHABLE);
    }
    signal("CONT", inits);
    for (int i = 0; i < SILENT; i++) {
      String name = "silent" + i;
      await()
          .atMost(DaemonProcess.PATIENCE)
          .until(() -> next.boxes().inspect(name).state() == BoxState.RUNNING);
      assertThat(next.execs(name).run(ExecRequest.of("true")).exec().exitCode()).isZero();
      assertThat(next.boxes().remove(name, true).clean()).isTrue();
    }
    next.boxes().remove("other", true);
  }

  @Test
  void aKeyMakesANewBoxIfTheDaemonDiedBeforeTheDetach() throws Exception {
    daemon.stop();
    daemon.start(Map.of("JAVA_TOOL_OPTIONS", "-Debb.fault=SEND_DETACH:crash"));
    var request = BoxRequest.defaults().withName("once").withDetached();
    assertThatThrownBy(() -> daemon.client().boxes().create(request, "key"))
        .isInstanceOf(IOException.class);
    assertThat(daemon.process().waitFor(DaemonProcess.PATIENCE.toSeconds(), TimeUnit.SECONDS))
        .isTrue();
    daemon.start();
    assertThat(daemon.client().boxes().list(BoxQuery.all())).isEmpty();
    Box made = daemon.client().boxes().create(request, "key");
    assertThat(made.state()).isEqualTo(BoxState.RUNNING);
    assertThat(daemon.client().boxes().create(request, "key").id()).isEqualTo(made.id());
    daemon.client().boxes().remove("once", true);
  }

  @Test
  void aStoppedDetachedBoxKeepsNoCgroupWhenItsDaemonEnds() throws Exception {
    TestHost.require(Feature.CGROUPS);
    create("past");
    daemon.client().boxes().stop("past", Duration.ZERO);
    Path instance = instance();
    assertThat(cgroups(instance)).isNotEmpty();
    assertThat(daemon.stop()).isZero();
    assertThat(cgroups(instance)).isEmpty();
    daemon.start();
    assertThat(daemon.client().boxes().inspect("past").state()).isEqualTo(BoxState.GONE);
    create("present");
    daemon.client().boxes().remove("present", true);
    daemon.client().boxes().remove("past", false);
  }

  @Test
  void anEmptyLedgerLosesNoBox() throws Exception {
    create("kept");
    daemon.client().execs("kept").start(ExecRequest.of("sleep", "1000"));
    daemon.kill();
    Files.write(instance().resolve("ledger"), new byte[0]);
    daemon.start();
    EbbClient next = daemon.client();
    assertThat(next.boxes().inspect("kept").state()).isEqualTo(BoxState.RUNNING);
    assertThat(next.execs("kept").list()).hasSize(1);
    assertThat(next.sweep(false).findings()).isEmpty();
    assertThat(next.boxes().remove("kept", true).clean()).isTrue();
  }

  @Test
  void aSweepReleasesWhatALostInstanceLeft() throws Exception {
    create("lost");
    List<Long> pids = HostBox.look(daemon.client(), "lost").pids();
    daemon.kill();
    Path instance = instance();
    try (var all = Files.walk(instance)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    }
    var sweep = daemon.ebb().call("sweep");
    assertThat(sweep.code()).as(sweep.stderr()).isZero();
    assertThat(sweep.text()).contains(instance.getFileName().toString(), "released");
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(() -> assertThat(pids).noneMatch(HostBox::isThere));
    assertThat(cgroups(instance)).isEmpty();
    daemon.start();
    assertThat(daemon.client().boxes().list(BoxQuery.all())).isEmpty();
  }
}
