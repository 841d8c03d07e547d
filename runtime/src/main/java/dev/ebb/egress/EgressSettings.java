package dev.ebb.egress;

import java.time.Duration;
import java.util.List;

/**
 * The operator's settings for the proxies of all boxes of an engine.
 *
 * @param opened addresses that are allowed although they are not public
 * @param connections the most at a time, of all boxes; more wait
 * @param connectionsOfBox the most at a time, of one box
 * @param headPatience how long a request may take to be sent
 * @param connectPatience how long a name may take to be found, and an address to answer
 * @param idlePatience how long a connection may carry nothing
 */
public record EgressSettings(
    List<AddressBlock> opened,
    Resolver resolver,
    int connections,
    int connectionsOfBox,
    Duration headPatience,
    Duration connectPatience,
    Duration idlePatience) {

  public static final EgressSettings DEFAULT =
      new EgressSettings(
          List.of(),
          Resolver.OF_HOST,
          512,
          128,
          Duration.ofSeconds(10),
          Duration.ofSeconds(10),
          Duration.ofMinutes(5));

  public EgressSettings {
    opened = List.copyOf(opened);
  }

  public EgressSettings withOpened(List<AddressBlock> changed) {
    return new EgressSettings(
        changed,
        resolver,
        connections,
        connectionsOfBox,
        headPatience,
        connectPatience,
        idlePatience);
  }

  public EgressSettings withResolver(Resolver changed) {
    return new EgressSettings(
        opened,
        changed,
        connections,
        connectionsOfBox,
        headPatience,
        connectPatience,
        idlePatience);
  }

  public EgressSettings withConnections(int most, int mostOfBox) {
    return new EgressSettings(
        opened, resolver, most, mostOfBox, headPatience, connectPatience, idlePatience);
  }

  public EgressSettings withPatience(Duration head, Duration connect, Duration idle) {
    return new EgressSettings(opened, resolver, connections, connectionsOfBox, head, connect, idle);
  }
}
