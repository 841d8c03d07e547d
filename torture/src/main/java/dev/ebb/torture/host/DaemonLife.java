package dev.ebb.torture.host;

import dev.ebb.client.EbbClient;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import java.util.OptionalInt;
import java.util.Set;

/**
 * One life of a daemon, from its start to its end.
 *
 * @param stdin the daemon ends when this end of its stdin is closed
 * @param outer the supervisor that was started
 * @param inner the pid of the supervisor below it
 * @param port of the loopback, if it listens on one
 * @param isLogBlocked its stderr is a pipe that is never read, and not its log
 */
record DaemonLife(
    Scope scope,
    Fd stdin,
    Pidfd outer,
    int inner,
    Target daemon,
    EbbClient client,
    OptionalInt port,
    boolean isLogBlocked) {
  Set<Integer> pids() {
    return Set.of(outer.pid(), inner, daemon.pid());
  }
}
