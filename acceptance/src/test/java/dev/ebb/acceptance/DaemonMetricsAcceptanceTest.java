package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The metrics that Prometheus scrapes, and the board and alerts that use them. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonMetricsAcceptanceTest {
  private static final Pattern NAME = Pattern.compile("\\b(?:ebb|process|jvm)_[a-z0-9_]+");
  private static final Pattern SAMPLE =
      Pattern.compile("(?m)^((?:ebb|process|jvm)_[a-z0-9_]+)[ {]");

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();

  private String scrape(String key) throws IOException {
    var answer = Wire.ask(daemon.uri(), "GET", "/metrics", "", "Authorization: Bearer " + key);
    assertThat(answer.status()).as(answer.body()).isEqualTo(200);
    return answer.body();
  }

  private static double value(String page, String sample) {
    return page.lines()
        .filter(line -> line.startsWith(sample + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + sample + " in " + page));
  }

  @Test
  void whatADaemonDidIsInItsMetrics() throws Exception {
    String key = daemon.key("--admin");
    EbbClient client = daemon.client();
    var box = client.boxes().create(BoxRequest.defaults());
    client.execs(box.id()).run(ExecRequest.of("true"));
    var sleeper = client.execs(box.id()).start(ExecRequest.of("sleep", "1000"));

    String busy = scrape(key);
    assertThat(value(busy, "ebb_boxes{state=\"running\"}")).isEqualTo(1);
    assertThat(value(busy, "ebb_execs_running")).isEqualTo(1);
    assertThat(value(busy, "process_cpu_seconds_total")).isBetween(0.01, 1000.0);
    assertThat(value(busy, "process_open_fds")).isBetween(10.0, value(busy, "process_max_fds"));
    assertThat(value(busy, "process_resident_memory_bytes")).isBetween(2e7, 2e9);
    assertThat(System.currentTimeMillis() / 1000.0 - value(busy, "process_start_time_seconds"))
        .isBetween(0.0, 600.0);
    assertThat(value(busy, "jvm_threads_current")).isBetween(5.0, 100.0);
    assertThat(value(busy, "jvm_memory_used_bytes{area=\"heap\"}")).isBetween(1e6, 1e9);
    assertThat(value(busy, "ebb_box_create_seconds_count{outcome=\"made\"}")).isEqualTo(1);
    assertThat(value(busy, "ebb_exec_seconds_count{status=\"exited\"}")).isEqualTo(1);

    client.execs(box.id()).kill(sleeper.number(), Duration.ZERO);
    client.boxes().remove(box.id(), true);
    await()
        .atMost(DaemonProcess.PATIENCE)
        .untilAsserted(
            () -> {
              String idle = scrape(key);
              assertThat(value(idle, "ebb_boxes{state=\"running\"}")).isZero();
              assertThat(value(idle, "ebb_execs_running")).isZero();
              assertThat(value(idle, "ebb_kill_seconds_count")).isEqualTo(1);
              assertThat(value(idle, "ebb_time_to_gone_seconds_count{clean=\"true\"}"))
                  .isEqualTo(1);
              assertThat(value(idle, "ebb_leaks_total")).isZero();
              assertThat(value(idle, "ebb_sweep_findings_total{kind=\"process\"}")).isZero();
            });
    Wire.ask(daemon.uri(), "GET", "/v1/boxes/nobody", "", "Authorization: Bearer " + key);
    assertThat(value(scrape(key), "ebb_refusals_total{reason=\"not-found\"}")).isEqualTo(1);
  }

  @Test
  void onlyAdminsAndTheRoleForItMayLook() throws Exception {
    assertThat(Wire.ask(daemon.uri(), "GET", "/metrics", "").status()).isEqualTo(401);
    String tenant = daemon.key("--tenant", "someone");
    var refused = Wire.ask(daemon.uri(), "GET", "/metrics", "", "Authorization: Bearer " + tenant);
    assertThat(refused.status()).isEqualTo(403);
    assertThat(scrape(daemon.key("--role", "metrics"))).contains("ebb_boxes{");
  }

  /** A name that no daemon knows would be an empty panel, and an alarm that never rings. */
  @Test
  void theBoardTheAlarmsAndThePageUseTheNamesThatThereAre() throws Exception {
    // Only what happened has a sample.
    EbbClient client = daemon.client();
    var box = client.boxes().create(BoxRequest.defaults());
    var sleeper = client.execs(box.id()).start(ExecRequest.of("sleep", "1000"));
    client.execs(box.id()).kill(sleeper.number(), Duration.ZERO);
    client.boxes().remove(box.id(), true);
    String key = daemon.key("--admin");
    Wire.ask(daemon.uri(), "GET", "/v1/boxes/nobody", "", "Authorization: Bearer " + key);
    var served = new TreeSet<String>();
    SAMPLE.matcher(scrape(key)).results().forEach(match -> served.add(match.group(1)));

    Path monitoring = TestHost.root().resolve("dist/monitoring");
    assertThat(names(monitoring.resolve("grafana.json"))).isSubsetOf(served).hasSizeGreaterThan(8);
    assertThat(names(monitoring.resolve("alerts.yml"))).isSubsetOf(served).hasSizeGreaterThan(4);
    var described = names(TestHost.root().resolve("docs/operate/metrics.md"));
    var families = new TreeSet<String>();
    served.forEach(name -> families.add(name.replaceFirst("_(bucket|sum|count)$", "")));
    assertThat(described).isEqualTo(families);
  }

  private static Set<String> names(Path file) throws IOException {
    var names = new TreeSet<String>();
    NAME.matcher(Files.readString(file)).results().forEach(match -> names.add(match.group()));
    return names;
  }
}
