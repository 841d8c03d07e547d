package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Scope;
import dev.ebb.oracle.LivingNeighbours;
import dev.ebb.oracle.ProcessEntry;
import dev.ebb.oracle.ProcessTable;
import dev.ebb.oracle.Processes;
import dev.ebb.oracle.Trace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The owner of a process. */
class ProcessTableTest {
  private static final int BOX_UID = 0x7000_0001;

  private static final ProcessEntry INIT = process(1, 0, 0, "/");
  private static final ProcessEntry SHELL = process(10, 1, 0, "/");
  private static final ProcessEntry SELF = process(11, 10, 0, "/");
  private static final ProcessEntry OTHER_JVM = process(20, 10, 0, "/");

  @Test
  void whateverDescendsFromUsIsOurs() throws Exception {
    var child = process(30, 11, 0, "/");
    var grandchild = process(31, 30, BOX_UID, "/ebb-1/box/init");
    assertThat(look(child, grandchild)).allMatch(trace -> !trace.neighbours()).hasSize(2);
  }

  @Test
  void aBoxOfAnotherJvmIsTheirs() throws Exception {
    var theirs = process(30, 20, BOX_UID, "/ebb-1/box/init");
    assertThat(look(theirs)).allMatch(Trace::neighbours).hasSize(1);
  }

  @Test
  void anOrphanOfABoxMayBeOursByItsCgroup() throws Exception {
    var orphan = process(30, 1, 0, "/ebb-1/box/work/1");
    var child = process(31, 30, 0, "/ebb-1/box/work/1");
    assertThat(look(orphan, child)).allMatch(trace -> !trace.neighbours()).hasSize(2);
  }

  @Test
  void anOrphanOfABoxMayBeOursByItsUid() throws Exception {
    var orphan = process(30, 10, BOX_UID, "/");
    assertThat(look(orphan)).allMatch(trace -> !trace.neighbours()).hasSize(1);
  }

  @Test
  void anOrphanOfABoxIsNotOursIfWeAreAnotherOrdinaryUser() throws Exception {
    var us = process(SELF.pid(), SHELL.pid(), 1000, "/");
    var orphan = process(30, 10, BOX_UID, "/");
    var ours = process(31, 10, 1000, "/ebb-1/box/init");
    assertThat(look(us, orphan, ours))
        .extracting(Trace::neighbours)
        .containsExactlyInAnyOrder(true, false);
  }

  @Test
  void anOrphanInACgroupNamedAfterAnotherJvmIsTheirs() throws Exception {
    var theirs = process(30, 29, BOX_UID, "/ebb-inittest-20/b1/init");
    var ours = process(31, 29, BOX_UID, "/ebb-inittest-11/b1/init");
    assertThat(look(theirs)).allMatch(Trace::neighbours).hasSize(1);
    assertThat(look(ours)).allMatch(trace -> !trace.neighbours()).hasSize(1);
  }

  @Test
  void whatHasNothingToDoWithUsIsNotLookedAt() throws Exception {
    assertThat(look(process(30, 20, 1000, "/user.slice"))).isEmpty();
  }

  @Test
  void anInstanceIsItsHoldersAsLongAsTheyLive(@TempDir Path home) throws Exception {
    Path instance = Files.createDirectories(home.resolve("instances/ebb-1"));
    var nobodyIsOurs = new ProcessTable(0, ProcessEntry.readAll());
    assertThat(nobodyIsOurs.neighboursHold(instance + "/")).isFalse();
    try (var scope = new Scope()) {
      Fd.open(scope, instance.resolve("lock"), Fd.Flag.READ_WRITE, Fd.Flag.CREATE);
      var lookedAgain = new ProcessTable(0, ProcessEntry.readAll());
      assertThat(lookedAgain.neighboursHold(instance + "/")).isTrue();
      assertThat(ProcessTable.read().neighboursHold(instance + "/")).isFalse();
    }
  }

  @Test
  void aNeighboursDescriptorMayLieDeeperThanAPathCanSay(@TempDir Path top) throws Exception {
    try (var children = new Children()) {
      children.python(
          """
          import os, shutil
          os.chdir("%s")
          for _ in range(20):
              os.mkdir("d" * 250)
              os.chdir("d" * 250)
          held = os.open(".", os.O_PATH)
          os.chdir("/")
          shutil.rmtree("%s/" + "d" * 250)
          os.write(1, b"!")
          os.read(0, 1)
          """
              .formatted(top, top));
      var nobodyIsOurs = new ProcessTable(0, ProcessEntry.readAll());
      assertThat(nobodyIsOurs.neighboursHold("/instances/none/")).isFalse();
    }
  }

  private static List<Trace> look(ProcessEntry... processes) throws Exception {
    var all = new java.util.ArrayList<>(List.of(INIT, SHELL, SELF, OTHER_JVM));
    all.addAll(List.of(processes));
    return new Processes(new LivingNeighbours()).look(new ProcessTable(SELF.pid(), all));
  }

  private static ProcessEntry process(int pid, int parent, int uid, String cgroup) {
    return new ProcessEntry(pid, "test", 'S', parent, 1, uid, cgroup);
  }
}
