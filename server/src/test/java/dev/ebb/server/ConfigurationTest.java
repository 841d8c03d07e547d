package dev.ebb.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.ByteSize;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.service.access.Caps;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigurationTest {
  private static final HostCaps HOST = new HostCaps(8L << 30, 30_000, 4);

  @TempDir Path home;

  private Configuration of(Map<String, String> environment, Map<ConfigurationKey, String> flags) {
    return Configuration.of(home, Optional.empty(), environment, flags, HOST);
  }

  @Test
  void withoutAnythingItIsTheUnixSocketAlone() {
    Settings settings = of(Map.of(), Map.of()).settings();
    assertThat(settings.socket()).isEqualTo(home.resolve("ebb.sock"));
    assertThat(settings.listen()).isEmpty();
    assertThat(settings.tls()).isEmpty();
    assertThat(settings.policy().mounts()).isEmpty();
    assertThat(settings.policy().backends()).isEmpty();
  }

  @Test
  void aFlagWinsOverTheEnvironmentAndThatOverTheFile() throws IOException {
    Path file = home.resolve("ebb.toml");
    Files.writeString(
        file, "listen = \"127.0.0.1:1\"\nhosts = [\"a\", \"b\"]\n[policy]\nmounts = [\"/data\"]\n");
    var values = of(Map.of(), Map.of()).values();
    assertThat(values.get(ConfigurationKey.LISTEN))
        .isEqualTo(new Configuration.Value("127.0.0.1:1", file.toString()));
    assertThat(values.get(ConfigurationKey.HOSTS))
        .extracting(Configuration.Value::text)
        .isEqualTo("a,b");

    var environment =
        Map.of(
            "EBB_LISTEN",
            "127.0.0.1:2",
            "EBB_POLICY_HOST_NETWORK",
            "true",
            "EBB_POLICY_BACKENDS",
            "bubblewrap,forkserver");
    assertThat(of(environment, Map.of()).values().get(ConfigurationKey.LISTEN))
        .isEqualTo(new Configuration.Value("127.0.0.1:2", "EBB_LISTEN"));

    Settings settings = of(environment, Map.of(ConfigurationKey.LISTEN, "[::1]:3")).settings();
    assertThat(settings.listen().orElseThrow().getPort()).isEqualTo(3);
    assertThat(settings.policy().hostNetwork()).isTrue();
    assertThat(settings.policy().backends()).containsExactly("bubblewrap", "forkserver");
    assertThat(settings.policy().mounts()).containsExactly(Path.of("/data"));
  }

  @Test
  void thePoolAdaptsUnlessASettingSaysOtherwise() throws IOException {
    assertThat(of(Map.of(), Map.of()).settings().pool()).isEqualTo(PoolPolicy.ADAPTIVE);
    var flags = Map.of(ConfigurationKey.POOL_PRELOAD, "json", ConfigurationKey.POOL_IDLE, "9s");
    PoolPolicy chosen = of(Map.of(), flags).settings().pool();
    assertThat(chosen.preload()).containsExactly("json");
    assertThat(chosen.adaptation())
        .contains(new PoolPolicy.Adaptation(Duration.ofSeconds(9), false));
    var cold = Map.of(ConfigurationKey.POOL_ZYGOTE, "false");
    assertThat(of(Map.of(), cold).settings().pool().copies()).isEmpty();
    assertThat(of(Map.of("EBB_POOL", "fixed"), Map.of()).settings().pool())
        .isEqualTo(PoolPolicy.FIXED);
    Files.writeString(home.resolve("ebb.toml"), "pool = \"off\"\n");
    assertThat(of(Map.of(), Map.of()).settings().pool().isOff()).isTrue();
    assertThatThrownBy(() -> of(Map.of("EBB_POOL", "on"), Map.of()).settings())
        .hasMessageContaining("adaptive, fixed or off");
  }

  @Test
  void limitsAreCappedByFileEnvironmentAndFlag() throws IOException {
    Files.writeString(home.resolve("ebb.toml"), "[limits]\nmemory = \"2g\"\npids = 99\n");
    var environment = Map.of("EBB_LIMITS_OPEN_FILES", "512", "EBB_LIMITS_PIDS", "98");
    var flags = Map.of(ConfigurationKey.TTL, "7d", ConfigurationKey.CPUS, "1.5");
    Caps caps = of(environment, flags).settings().policy().caps();
    assertThat(caps.memory()).isEqualTo(ByteSize.mebibytes(2048));
    assertThat(caps.pids()).isEqualTo(98);
    assertThat(caps.openFiles()).isEqualTo(512);
    assertThat(caps.cpus()).isEqualTo(1.5);
    assertThat(caps.ttl()).isEqualTo(Duration.ofDays(7));
    assertThat(caps.fileSize()).isEqualTo(Caps.ANY_SIZE);
  }

  @Test
  void withoutSettingsABoxMayHaveWhatTheHostHas() {
    Configuration configuration = of(Map.of(), Map.of());
    Caps caps = configuration.settings().policy().caps();
    assertThat(caps.memory().bytes()).isEqualTo(8L << 30);
    assertThat(caps.disk()).as("in memory").isEqualTo(caps.memory());
    assertThat(caps.pids()).isEqualTo(30_000);
    assertThat(caps.cpus()).isEqualTo(4);
    assertThat(configuration.values().get(ConfigurationKey.PIDS))
        .isEqualTo(new Configuration.Value("30000", "this host"));
    Caps any =
        of(Map.of("EBB_LIMITS_PIDS", "", "EBB_LIMITS_MEMORY", ""), Map.of())
            .settings()
            .policy()
            .caps();
    assertThat(any.pids()).isEqualTo(Caps.ANY_PIDS);
    assertThat(any.memory()).isEqualTo(Caps.ANY_SIZE);
  }

  @Test
  void thisHostIsSmallerThanAPetabyte() {
    HostCaps host = HostCaps.ofThisHost();
    assertThat(host.memory()).isBetween(64L << 20, 1L << 50);
    assertThat(host.pids()).isBetween(1L, (long) Caps.ANY_PIDS);
    assertThat(host.cpus()).isBetween(1.0, 4096.0);
    assertThat(
            Configuration.of(home, Optional.empty(), Map.of(), Map.of(), host)
                .settings()
                .policy()
                .caps())
        .isNotEqualTo(Caps.NONE);
  }

  /** Every box would be refused. */
  @ParameterizedTest
  @CsvSource({"MEMORY,1m", "PIDS,0", "CPUS,0", "CPUS,NaN", "DISK,0", "OPEN_FILES,2"})
  void aCapBelowAllThatCanBeAskedForIsRefused(ConfigurationKey key, String value) {
    assertThatThrownBy(() -> of(Map.of(), Map.of(key, value)).settings())
        .hasMessageMatching(".* must be .*");
  }

  @Test
  void anUnknownKeyIsNamedWithItsFile() throws IOException {
    Files.writeString(home.resolve("ebb.toml"), "lissten = 1\n");
    assertThatThrownBy(() -> of(Map.of(), Map.of()))
        .hasMessageContaining(
            "ebb.toml: unknown key \"lissten\"; known: connections, egress.connections,"
                + " egress.private")
        .hasMessageContaining("hosts, limits.cpus");
  }

  @Test
  void egressSettingsAreRead() throws IOException {
    Files.writeString(
        home.resolve("ebb.toml"),
        """
        policy.egress = ["Example.org", "*.example.net:8443"]
        egress.private = ["10.1.0.0/16", "fd00::/8"]
        egress.connections = 7
        """);
    Settings settings = of(Map.of(), Map.of()).settings();
    assertThat(settings.policy().egress()).hasToString("example.org,*.example.net:8443");
    assertThat(settings.egress().opened()).hasSize(2);
    assertThat(settings.egress().connections()).isEqualTo(7);
    assertThatThrownBy(() -> of(Map.of("EBB_POLICY_EGRESS", "10.0.0.1"), Map.of()).settings())
        .hasMessageContaining("policy.egress: bad egress rule \"10.0.0.1\"");
    assertThatThrownBy(() -> of(Map.of("EBB_EGRESS_PRIVATE", "10.0.0.1"), Map.of()).settings())
        .hasMessageContaining("egress.private: bad block of addresses \"10.0.0.1\"");
  }

  @Test
  void aBrokenFileIsAnErrorWithItsLine() throws IOException {
    Files.writeString(home.resolve("ebb.toml"), "listen = \n");
    assertThatThrownBy(() -> of(Map.of(), Map.of())).hasMessageContaining("line 1");
  }

  @Test
  void aFileThatWasAskedForMustExist() {
    Path file = home.resolve("none.toml");
    assertThatThrownBy(() -> Configuration.of(home, Optional.of(file), Map.of(), Map.of(), HOST))
        .hasMessageContaining("cannot read " + file);
  }

  @ParameterizedTest
  @CsvSource({
    "LISTEN,nowhere,HOST:PORT",
    "LISTEN,a:99999,HOST:PORT",
    "LISTEN,:80,HOST:PORT",
    "SOCKET,relative,an absolute path",
    "MOUNTS,relative,an absolute path",
    "HOST_NETWORK,yes,true or false",
    "MEMORY,much,'a size, as 512m'",
    "PIDS,1.5,a whole number",
    "CPUS,all,a number",
    "TTL,long,'a duration, as 10m'"
  })
  void aBadValueIsNamedWithWhereItCameFrom(ConfigurationKey key, String value, String wanted) {
    assertThatThrownBy(() -> of(Map.of(), Map.of(key, value)).settings())
        .hasMessage(
            "%s is \"%s\" (%s), but must be %s"
                .formatted(key.wireName(), value, key.flag(), wanted));
  }

  @Test
  void aCertificateNeedsItsKey() {
    assertThatThrownBy(
            () -> of(Map.of(), Map.of(ConfigurationKey.TLS_CERTIFICATE, "/c")).settings())
        .hasMessage("tls.certificate and tls.key are needed together");
  }
}
