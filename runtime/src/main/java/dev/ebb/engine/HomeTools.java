package dev.ebb.engine;

import dev.ebb.box.Strangers;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.Scope;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.SandboxException;
import dev.ebb.store.Home;
import dev.ebb.supervision.Purge;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.SideHomes;
import dev.ebb.supervision.Why;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Works on a home without an engine: finds it, sweeps it, makes a temporary home beside it. */
public final class HomeTools {
  /** How long killed processes may take to be gone when no new engine waits for it. */
  static final Duration SWEEP_PATIENCE = Duration.ofSeconds(10);

  private HomeTools() {}

  /** The default home, which need not exist: {@code EBB_HOME}, or /var/lib/ebb. */
  public static Path defaultHome() {
    return home(System.getenv());
  }

  /** The home that an environment names, which need not exist. */
  public static Path home(Map<String, String> environment) {
    return Home.locate(environment);
  }

  /** Makes the default home if it is missing, and refuses it if others can change it. */
  public static Path prepareHome() {
    return prepareHome(defaultHome());
  }

  /** Makes the home {@code path} if it is missing, and refuses it if others can change it. */
  public static Path prepareHome(Path path) {
    try {
      return Home.open(path).path();
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot use Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /** Returns a readable reason; the message of a file system exception is only a path. */
  static String reason(Exception e) {
    return e instanceof AccessDeniedException denied
        ? denied.getFile() + " cannot be written; set EBB_HOME to a directory of your own"
        : String.valueOf(e.getMessage());
  }

  /** Releases what dead engines left in the default home; a dry run only reports. */
  public static List<Recovery.Finding> sweep(boolean dryRun) {
    return sweep(defaultHome(), dryRun);
  }

  /** Releases what dead engines left in {@code path}; a dry run only reports. */
  public static List<Recovery.Finding> sweep(Path path, boolean dryRun) {
    try (var scope = new Scope()) {
      Recovery recovery = recovery(scope, Home.open(path));
      var findings = new ArrayList<>(recovery.recover(dryRun));
      findings.addAll(recovery.recoverLost(dryRun));
      findings.addAll(recovery.releaseRemovedHomes(dryRun));
      findings.addAll(sweepBeside(path, dryRun));
      return findings;
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot sweep Ebb's home " + path + ": " + e.getMessage(), e);
    }
  }

  /** Releases the homes lent {@link #aside} by processes that are dead; a dry run only reports. */
  public static List<Recovery.Finding> sweepBeside(Path path, boolean dryRun) {
    try (var scope = new Scope()) {
      return sideHomes(scope, path).recover(dryRun);
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot sweep beside " + path + ": " + e.getMessage(), e);
    }
  }

  private static SideHomes sideHomes(Scope scope, Path path) throws KernelException, IOException {
    Home home = Home.open(path);
    return new SideHomes(home, recovery(scope, home));
  }

  private static Recovery recovery(Scope scope, Home home) throws KernelException {
    EmptyWait emptyWait = EmptyWait.on(Poller.start(scope, "ebb-poller"));
    var removal = new CgroupRemoval(emptyWait);
    return new Recovery(home, emptyWait, removal, new Strangers(), SWEEP_PATIENCE);
  }

  /** Uses a temporary home. */
  public interface Visit<T> {
    T in(Path home) throws IOException, InterruptedException;
  }

  /**
   * Lends a home beside {@code path}, and removes it afterwards with all that is in it; a sweep of
   * {@code path} does that if this process is killed.
   */
  public static <T> T aside(Path path, Visit<T> visit) throws IOException, InterruptedException {
    try (var scope = new Scope()) {
      SideHomes homes = sideHomes(scope, path);
      homes.recover(false);
      Path side = homes.create(scope);
      try {
        return visit.in(side);
      } finally {
        homes.remove(side);
      }
    } catch (KernelException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot use a home in " + path + ": " + e.getMessage(), e);
    }
  }

  /** Uses a home that is about to be removed. */
  public interface Purging<T> {
    T with(Purge purge) throws KernelException, IOException, InterruptedException;
  }

  /** Lends the means to remove {@code path}, an existing home, from this host. */
  public static <T> T purge(Path path, Purging<T> purging) throws InterruptedException {
    try (var scope = new Scope()) {
      Home home = Home.open(path);
      return purging.with(new Purge(home, recovery(scope, home)));
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot remove Ebb's home " + path + ": " + reason(e), e);
    }
  }

  /** Explains why a box, or the process with this host pid, still exists. */
  public static Optional<Why.Answer> why(String subject) {
    Path path = defaultHome();
    try {
      return new Why(Home.open(path)).explain(subject);
    } catch (KernelException | IOException e) {
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot read Ebb's home " + path + ": " + reason(e), e);
    }
  }
}
