package dev.ebb.box;

import dev.ebb.cgroup.Enclosure;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.LockOrder;
import dev.ebb.kernel.OrderedLock;
import dev.ebb.kernel.Scope;
import dev.ebb.model.BoxId;

/**
 * The parts of one box, for those that make, adopt and release it.
 *
 * @param scope owns all descriptors of the box
 * @param releasing held by a thread that changes or ends the box
 */
record BoxParts(
    BoxHost host,
    BoxId id,
    Enclosure enclosure,
    BoxLifecycle lifecycle,
    Scope scope,
    OrderedLock releasing,
    BoxHoldings holdings,
    BoxDirectory directory,
    BoxBackend backend,
    InitProcess init,
    BoxNetwork network,
    OperatorLane lane,
    OomWatch oomWatch) {

  static BoxParts of(BoxHost host, BoxId id, Enclosure enclosure, BoxLifecycle lifecycle)
      throws KernelException {
    var holdings = new BoxHoldings(id, host);
    var backend = new BoxBackend(id);
    var init = new InitProcess(id, host, enclosure, lifecycle);
    Scope scope = Scope.in(host.scope());
    return new BoxParts(
        host,
        id,
        enclosure,
        lifecycle,
        scope,
        new OrderedLock(LockOrder.BOX_RELEASE),
        holdings,
        new BoxDirectory(id, host, lifecycle),
        backend,
        init,
        new BoxNetwork(id, host, scope, lifecycle, init),
        new OperatorLane(id, enclosure, lifecycle, holdings, backend, init),
        new OomWatch(id, enclosure));
  }
}
