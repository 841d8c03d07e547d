package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.ExecRequest;
import dev.ebb.json.Json;
import dev.ebb.testkit.LeakChecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What the log of a daemon says about the work of a day. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonLogAcceptanceTest {
  private static final String LINE =
      "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{3})?Z (DEBUG|INFO|WARNING|ERROR) event=[a-z_]+.*";

  @TempDir private Path files;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          () -> List.of("sh", "-c", "exec \"$@\" 2>>\"$0\"", files.resolve("log").toString()),
          Map.of());

  /** Ends the daemon, so that its log is complete. */
  private List<String> log() throws Exception {
    daemon.stop();
    return Files.readAllLines(files.resolve("log"));
  }

  private String work() throws Exception {
    var client = daemon.client();
    String box = client.boxes().create(BoxRequest.defaults()).id();
    client.execs(box).run(ExecRequest.of("sh", "-c", "echo secret; exit 3"));
    var sleeper = client.execs(box).start(ExecRequest.of("sleep", "1000"));
    client.execs(box).kill(sleeper.number(), Duration.ZERO);
    for (int i = 0; i < 50; i++) {
      Wire.ask(daemon.uri(), "GET", "/v1/boxes", "", "Authorization: Bearer wrong" + i);
    }
    String key = daemon.key("--tenant", "acme");
    for (int i = 0; i < 50; i++) {
      Wire.ask(
          daemon.uri(), "GET", "/v1/boxes/x%22%20event=y" + i, "", "Authorization: Bearer " + key);
    }
    client.boxes().remove(box, true);
    return box;
  }

  @Test
  void everyThingDoneLeavesOneLineAndAFloodOfRefusalsFew() throws Exception {
    String box = work();
    List<String> log = log();
    assertThat(log).allMatch(line -> line.matches(LINE));
    assertThat(log)
        .filteredOn(line -> line.contains(" box=" + box))
        .extracting(line -> line.substring(line.indexOf(" event=") + 1))
        .containsExactly(
            "event=box_created box=" + box + " tenant=default",
            "event=exec_ended box=" + box + " exec=1 tenant=default status=exited exit_code=3",
            "event=exec_killed box=" + box + " exec=2 tenant=default grace_ms=0",
            "event=exec_ended box=" + box + " exec=2 tenant=default status=killed exit_code=137",
            "event=box_gone box=" + box + " tenant=default by=request");
    assertThat(log)
        .filteredOn(line -> line.contains("event=key_denied"))
        .hasSizeBetween(2, 6)
        .allMatch(
            line -> line.contains("remote=127.0.0.1 door=rest reason=\"this key is not known\""))
        .last()
        .asString()
        .contains(" repeated=");
    assertThat(log)
        .filteredOn(line -> line.contains("event=request_refused"))
        .hasSizeBetween(2, 6)
        .allMatch(
            line ->
                line.contains(
                    "code=not-found status=404 tenant=acme method=GET route=/v1/boxes/{box}"));
    assertThat(String.join("\n", log)).doesNotContain("secret", "wrong", "event=y");
  }

  @Test
  void asJsonEachLineIsAnObject() throws Exception {
    daemon.stop();
    Files.delete(files.resolve("log"));
    daemon.start(Map.of("EBB_LOG_FORMAT", "json", "EBB_LOG_LEVEL", "debug"));
    String box = work();
    List<String> log = log();
    assertThat(log).hasSizeGreaterThan(5);
    int started = 0;
    for (String line : log) {
      var object = Json.readObject(line);
      assertThat(object.string("time")).endsWith("Z");
      boolean isStart = object.string("event").equals("exec_started");
      started += isStart && object.string("box").equals(box) ? 1 : 0;
    }
    assertThat(started).isEqualTo(2);
  }
}
