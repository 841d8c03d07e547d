package dev.ebb.server;

import dev.ebb.admission.PressureSettings;
import dev.ebb.egress.AddressBlock;
import dev.ebb.pool.PoolPolicy;
import dev.ebb.server.http.Listeners;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.http.Tls;
import dev.ebb.server.service.access.Policy;
import dev.ebb.server.service.access.Quota;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What a daemon is started with.
 *
 * @param home where all its state lies
 * @param socket the unix socket it answers on
 * @param listen the TCP address it answers on too, with keys
 * @param hosts names it may be called by over TCP, beside those of the loopback
 * @param connections most at a time, within what descriptors there are
 * @param sweepInterval zero: it sweeps only when asked
 * @param quota for tenants that have none of their own
 * @param pool of boxes that are made ahead
 * @param egress of boxes that may reach something
 * @param mcp what sessions of agents may have
 */
public record Settings(
    Path home,
    Path socket,
    Optional<InetSocketAddress> listen,
    Optional<Tls.PemFiles> tls,
    Set<String> hosts,
    int connections,
    Policy policy,
    Duration sweepInterval,
    PressureSettings pressure,
    Quota quota,
    PoolPolicy pool,
    Egress egress,
    SessionLimits mcp) {

  public static final Duration SWEEP_INTERVAL = Duration.ofMinutes(1);
  public static final int ANY_CONNECTIONS = Integer.MAX_VALUE;

  /**
   * What holds for the proxies of all boxes.
   *
   * @param opened addresses that may be connected to though they are not public
   * @param connections most at a time, within what descriptors there are
   */
  public record Egress(List<AddressBlock> opened, int connections) {
    public static final Egress DEFAULT = new Egress(List.of(), ANY_CONNECTIONS);

    public Egress {
      opened = List.copyOf(opened);
    }
  }

  public Settings {
    hosts = Set.copyOf(hosts);
  }

  /** On the unix socket of {@code home} only. */
  public static Settings of(Path home) {
    return new Settings(
        home,
        home.resolve("ebb.sock"),
        Optional.empty(),
        Optional.empty(),
        Set.of(),
        ANY_CONNECTIONS,
        Policy.STRICT,
        SWEEP_INTERVAL,
        PressureSettings.DEFAULT,
        Quota.NONE,
        PoolPolicy.DEFAULT,
        Egress.DEFAULT,
        SessionLimits.DEFAULT);
  }

  /** Where it listens. */
  Listeners.Addresses addresses() {
    return new Listeners.Addresses(socket, listen, tls, hosts, connections);
  }

  public Settings withListen(InetSocketAddress address) {
    return new Settings(
        home,
        socket,
        Optional.of(address),
        tls,
        hosts,
        connections,
        policy,
        sweepInterval,
        pressure,
        quota,
        pool,
        egress,
        mcp);
  }
}
