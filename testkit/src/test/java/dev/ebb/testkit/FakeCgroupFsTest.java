package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FakeCgroupFsTest {
  @TempDir Path root;

  @Test
  void version2HasItsControllersInOneHierarchy() throws Exception {
    var fake = FakeCgroupFs.v2(root);
    Path cgroup = fake.create("ebb-1/box");
    assertThat(fake.read(fake.unified(), "cgroup.controllers")).isEqualTo("cpu memory pids");
    assertThat(cgroup.resolve("memory.max")).exists();
    assertThat(fake.mountinfo()).filteredOn(line -> line.contains(" - cgroup")).hasSize(1);
  }

  @Test
  void hybridHasAHierarchyForEachController() throws Exception {
    var fake = FakeCgroupFs.hybrid(root);
    Path cgroup = fake.create("ebb-1");
    assertThat(cgroup.resolve("memory.max")).doesNotExist();
    assertThat(fake.version1("pids").resolve("ebb-1/pids.max")).exists();
    assertThat(fake.mountinfo()).filteredOn(line -> line.contains(" - cgroup ")).hasSize(4);
    assertThat(fake.mountinfo()).anyMatch(line -> line.endsWith("cgroup cgroup rw,freezer"));
  }

  @Test
  void membersShowInTheEventsOfAllAbove() throws Exception {
    var fake = FakeCgroupFs.v2(root);
    Path instance = fake.create("ebb-1");
    Path box = fake.create("ebb-1/box");
    fake.populate("ebb-1/box", 42, 43);
    assertThat(fake.read(box, "cgroup.procs")).isEqualTo("42\n43");
    assertThat(fake.read(instance, "cgroup.events")).startsWith("populated 1");
  }

  @Test
  void aCgroupIsBusyUntilVacated() throws Exception {
    var fake = FakeCgroupFs.v2(root);
    Path cgroup = fake.create("ebb-1");
    assertThatThrownBy(() -> Files.delete(cgroup)).isInstanceOf(DirectoryNotEmptyException.class);
    fake.vacate(cgroup);
    Files.delete(cgroup);
  }

  @Test
  void anOldKernelLacksAFileEverywhere() throws Exception {
    var fake = FakeCgroupFs.hybrid(root);
    Path cgroup = fake.create("ebb-1/box");
    fake.withdraw("cgroup.kill");
    assertThat(cgroup.resolve("cgroup.kill")).doesNotExist();
    assertThat(cgroup.resolve("cgroup.freeze")).exists();
  }
}
