package dev.ebb.engine;

import dev.ebb.backend.BackendHost;
import dev.ebb.backend.Backends;
import dev.ebb.box.BoxHost;
import dev.ebb.box.HostUids;
import dev.ebb.box.Patience;
import dev.ebb.box.Strangers;
import dev.ebb.cgroup.CgroupRemoval;
import dev.ebb.cgroup.EmptyWait;
import dev.ebb.cgroup.Hierarchies;
import dev.ebb.egress.Egress;
import dev.ebb.fault.Step;
import dev.ebb.init.Discards;
import dev.ebb.init.InitBinary;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Poller;
import dev.ebb.kernel.ProcessClock;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Kind;
import dev.ebb.model.SandboxException;
import dev.ebb.process.Privileges;
import dev.ebb.process.ProcessRef;
import dev.ebb.process.Reaper;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Home;
import dev.ebb.store.Instance;
import dev.ebb.store.RecordStores;
import dev.ebb.store.UidClaims;
import dev.ebb.store.UidRange;
import dev.ebb.supervision.Recovery;
import dev.ebb.supervision.Traces;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Opens an engine on a home: releases what dead engines left there, makes an instance or takes over
 * the last daemon's, and gives it a cgroup subtree. A failure unwinds everything.
 */
final class Opening {
  private static final Logger LOG = System.getLogger(Opening.class.getName());
  private static final Duration CREATE_DEADLINE = Duration.ofSeconds(30);

  /** How long the leftovers of a dead runtime may delay the next one. */
  private static final Duration AT_START = Duration.ofSeconds(2);

  private static final Duration ORPHAN_PATIENCE = Duration.ofSeconds(5);

  /** The role of an engine in its process. */
  enum Role {
    /** A library in the process of another program, which stays in its cgroup. */
    GUEST,
    /** The purpose of a dedicated process, which may be moved between cgroups. */
    PROCESS,
    /** A process that takes over the detached boxes of the daemon before it. */
    DAEMON
  }

  private final Scope scope;
  private final Role role;
  private final Home home;
  private final EmptyWait emptyWait;
  private final CgroupRemoval removal;
  private final Strangers strangers = new Strangers();
  private final Poller poller;
  private final Reaper reaper = new Reaper(ProcessClock.instants(), ORPHAN_PATIENCE);
  private final InitBinary binary;
  private final Registration registration;

  /** Registers the backends of an engine. */
  interface Registration {
    Backends backends(BackendHost host, Role role);
  }

  private Opening(Scope scope, Role role, Path path, Registration registration)
      throws KernelException, IOException {
    this.scope = scope;
    this.role = role;
    this.registration = registration;
    home = Home.open(path);
    binary = InitBinary.stage(scope, home.lib());
    poller = Poller.start(scope, "ebb-poller", ORPHAN_PATIENCE, reaper::reapStrangers);
    emptyWait = EmptyWait.on(poller);
    removal = new CgroupRemoval(emptyWait);
  }

  static Engine open(Path path, Role role) {
    return open(path, role, BackendRegistration.ofHost());
  }

  static Engine open(Path path, Role role, Registration registration) {
    var building = new Scope();
    try {
      Hierarchies hierarchies = Hierarchies.detect(role != Role.GUEST);
      Self.becomeSubreaper();
      return new Opening(building, role, path, registration).open(hierarchies);
    } catch (KernelException | IOException | RuntimeException e) {
      try {
        building.close();
      } catch (KernelException suppressed) {
        e.addSuppressed(suppressed);
      }
      if (e instanceof SandboxException sandbox) {
        throw sandbox;
      }
      throw new SandboxException(
          ErrorCode.HOST_UNFIT, "cannot open Ebb's home " + path + ": " + HomeTools.reason(e), e);
    }
  }

  private Engine open(Hierarchies hierarchies) throws KernelException, IOException {
    var recovery = new Recovery(home, emptyWait, removal, strangers, AT_START);
    var recovered = new ArrayList<>(recovery.recover(false));
    if (role == Role.DAEMON) {
      recovered.addAll(recovery.recoverLost(false));
    }
    Instance instance = instance();
    mendLedger(instance);
    recovered.addAll(releaseAttached(instance, recovery));
    BoxHost host = host(instance, hierarchies);
    // Uids of the leftovers of others are not lent again, even if they are released.
    instance.ledger().holdings().stream()
        .filter(held -> held.kind() == Kind.USER)
        .forEach(held -> host.uids().take(Integer.parseInt(held.subject())));
    var subtree = new Subtree(home, host);
    var past = new PastReleases(host.records(), recovery.certificates());
    var engine = new Engine(home, host, subtree, recovered, past);
    try {
      subtree.create();
    } catch (KernelException | IOException | RuntimeException e) {
      engine.close();
      throw e;
    }
    return engine;
  }

  private BoxHost host(Instance instance, Hierarchies hierarchies) {
    var discards = new Discards(poller, binary);
    var uids = HostUids.of(instance.uid());
    var backendHost =
        new BackendHost(
            scope,
            instance,
            hierarchies,
            poller,
            emptyWait,
            removal,
            binary,
            discards,
            uids,
            reaper);
    return new BoxHost(
        scope,
        instance,
        RecordStores.open(home.path(), instance.directory()),
        hierarchies,
        poller,
        emptyWait,
        removal,
        registration.backends(backendHost, role),
        discards,
        uids,
        reaper,
        new Egress(),
        new Patience(),
        strangers,
        CREATE_DEADLINE);
  }

  private Instance instance() throws KernelException, IOException {
    UidRange uids = HostUids.range(Privileges.ofThisProcess());
    if (role == Role.DAEMON && !uids.equals(UidRange.NONE) && !UidClaims.arePossible()) {
      LOG.log(Level.WARNING, "event=uids_not_claimed reason=\"/run cannot be written\"");
    }
    String self = ProcessRef.self().toString();
    try {
      return role == Role.DAEMON
          ? home.createForDaemon(scope, self, uids, this::hasTraces)
          : home.create(scope, self, uids);
    } catch (KernelException e) {
      if (e.is(Errno.EUSERS)) {
        throw new SandboxException(
            ErrorCode.NO_USERS_LEFT, "too many runtimes share this host: " + e.getMessage(), e);
      }
      throw e;
    }
  }

  private boolean hasTraces(String instance) {
    try {
      return Traces.look(home).has(instance);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Lists what an adopted instance has on the host, in case its ledger is damaged. */
  private void mendLedger(Instance instance) throws KernelException, IOException {
    if (!instance.resumed()) {
      return;
    }
    Ledger ledger = instance.ledger();
    var unlisted =
        Traces.look(home).unlisted(instance.id(), instance.directory(), ledger.holdings());
    for (var each : unlisted.entrySet()) {
      ledger.hold(each.getKey(), each.getValue());
      LOG.log(
          Level.WARNING,
          "event=ledger_mended instance={0} box={1} found={2}",
          instance.id(),
          each.getKey(),
          each.getValue());
    }
  }

  /** Releases the attached boxes of an adopted instance; detached boxes stay. */
  private static List<Recovery.Finding> releaseAttached(Instance instance, Recovery recovery)
      throws KernelException {
    Ledger ledger = instance.ledger();
    var left = new DeadInstance(instance.id(), instance.directory(), true, ledger.holdings());
    var boxes = new LinkedHashSet<String>();
    left.holdings().forEach(held -> boxes.add(held.box()));
    boxes.remove("");
    boxes.removeAll(left.detached());
    var findings = new ArrayList<Recovery.Finding>();
    for (String box : boxes) {
      findings.addAll(release(left.only(held -> held.box().equals(box)), ledger, recovery));
    }
    return findings;
  }

  /** Releases one box; a stuck box keeps all its lines, including that of its uid. */
  private static List<Recovery.Finding> release(DeadInstance box, Ledger ledger, Recovery recovery)
      throws KernelException {
    var findings = recovery.release(box, false);
    if (findings.stream().noneMatch(each -> each.fate() instanceof Recovery.Fate.Stuck)) {
      Step.STRIKE_ATTACHED.reach();
      ledger.strike(box.holdings());
    }
    return findings;
  }
}
