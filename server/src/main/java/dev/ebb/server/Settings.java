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
 * The settings of a daemon at its start.
 *
 * @param home the directory of all its state
 * @param socket the unix socket it listens on
 * @param listen the TCP address it also listens on, for callers with keys
 * @param hosts names by which clients may address it over TCP, beside those of the loopback
 * @param connections most at a time, within the limit of descriptors
 * @param sweepInterval zero: it sweeps only on request
 * @param quota for tenants without one of their own
 * @param pool of boxes that are made ahead
 * @param egress of boxes with network access
 * @param mcp limits of agents' sessions
 * @param rehearses whether it runs boxes of its own after the start
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
    SessionLimits mcp,
    boolean rehearses) {

  public static final Duration SWEEP_INTERVAL = Duration.ofMinutes(1);
  public static final int ANY_CONNECTIONS = Integer.MAX_VALUE;

  /**
   * Settings of the proxies of all boxes.
   *
   * @param opened private addresses that boxes may connect to
   * @param connections most at a time, within the limit of descriptors
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

  /** Settings of a daemon that listens on the unix socket of {@code home} only. */
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
        PoolPolicy.ADAPTIVE,
        Egress.DEFAULT,
        SessionLimits.DEFAULT,
        false);
  }

  /** Returns where the daemon listens. */
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
        mcp,
        rehearses);
  }
}
