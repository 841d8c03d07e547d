package dev.ebb.server.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.ebb.admission.BaselineWatch;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.server.service.access.Caller;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A door in a separate module, which is loaded for the first authenticated caller, so an unused
 * door costs nothing. Until then only its {@link Sign} is known. Thread-safe.
 */
public final class ModuleDoor implements Door {
  private final Sign sign;
  private final House house;
  private final BaselineWatch baseline;
  private final OrderedLock opening = new OrderedLock(LockOrder.DOOR_OPENING);

  @GuardedBy("opening")
  private @Nullable Door opened;

  /** The loaded door, for reads without the lock. */
  private volatile @Nullable Door door;

  /**
   * The facts about a door that are known before it is loaded.
   *
   * @param name of the door, and of the directory with its jars beside the server's
   * @param module that provides it
   * @param key where the first request carries its key
   * @param routes their descriptions for the OpenAPI document
   */
  public record Sign(
      String name, String module, Set<Mount> mounts, KeyPlace key, List<DescribedRoute> routes) {
    public Sign {
      mounts = Set.copyOf(mounts);
      routes = List.copyOf(routes);
    }
  }

  @SuppressWarnings("exports") // for the daemon, see module-info
  public ModuleDoor(Sign sign, House house, BaselineWatch baseline) {
    this.sign = sign;
    this.house = house;
    this.baseline = baseline;
  }

  boolean isLoaded() {
    return door != null;
  }

  private Door load() {
    Door there = door;
    if (there != null) {
      return there;
    }
    opening.lock();
    try {
      if (opened == null) {
        opened = DoorLayer.open(sign, house, baseline);
        door = opened;
      }
      return opened;
    } finally {
      opening.unlock();
    }
  }

  @Override
  public String name() {
    return sign.name();
  }

  @Override
  public Set<Mount> mounts() {
    return sign.mounts();
  }

  /** Loads it. */
  @Override
  public List<Route> routes() {
    return load().routes();
  }

  @Override
  public KeyPlace key() {
    Door there = door;
    return there == null ? sign.key() : there.key();
  }

  @Override
  public Optional<Caller> vouched(Asked asked) {
    Door there = door;
    return there == null ? Optional.empty() : there.vouched(asked);
  }

  @Override
  public boolean acceptsHost(Asked asked) {
    Door there = door;
    return there != null && there.acceptsHost(asked);
  }

  @Override
  public boolean acceptsOrigin(String origin, Asked asked) {
    Door there = door;
    return there != null && there.acceptsOrigin(origin, asked);
  }

  @Override
  public ErrorForm errors() {
    Door there = door;
    return there == null ? ErrorForm.PROBLEM_JSON : there.errors();
  }

  @Override
  public boolean toleratesQueries() {
    Door there = door;
    return there != null && there.toleratesQueries();
  }

  /** Returns its sessions without loading it: a door that is not loaded has none. */
  @Override
  public DoorSessions sessions() {
    Door there = door;
    return there == null ? DoorSessions.NONE : there.sessions();
  }
}
